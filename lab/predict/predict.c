#include "lab/predict/predict.h"

#include <math.h>

#include "core/sparse24.h"
#include "lab/predict/warp_cost.h"

/* Constants of the model, the same for every kernel and GPU. Rounded from `time_model fit`. */
const lab_time_constants lab_time = {.load_cycles = 18,
                                     .store_cycles = 100,
                                     .mma_cycles = 11,
                                     .dram_wait_cycles = 660,
                                     .step_cycles = 540,
                                     .branch_instructions = 9,
                                     .prepare_share = 0.5};
/* Not fitted. Instructions beside the accesses and multiply-adds that the source asks for, in code as nvcc makes it; an
 * idle Hopper's latency of L2; beginning and end of a CTA; what mma.sync reaches of the rate of Hopper's wgmma; a
 * launch, fitted once to squares of 1024 and 2048. */
static const double per_global_access = 3, per_shared_access = 0.5, per_barrier = 12, per_cut = 10;
static const double l2_wait_cycles = 270, start_cycles = 1000, mma_sync_share = 0.62, launch_ns = 4000;

enum {
    SCHEDULERS = 4,
    MMA_FLOPS = 4096 /* of an mma.sync m16n8k16 */,
    MMA_F64_FLOPS = 1024 /* m16n8k4 */,
    HOPPER = 90,
    NORM = 3
};

/* What a prediction is made of. */
typedef struct inputs {
    const lab_counters *c;
    const lab_gpu_spec *gpu;
    const lab_time_constants *k;
    tsr_dtype dtype; /* of A */
} inputs;

const char *const lab_eight_names[LAB_EIGHT] = {"SM %",   "memory %", "L1/TEX %", "L2 %",
                                                "DRAM %", "L1 hit %", "L2 hit %", "memory GB/s"};
const char *const lab_limiter_names[LAB_LIMITERS] = {
    "instruction issue", "multiply-add units", "tensor cores", "L1 and shared memory", "L2", "DRAM", "latency"};

double lab_eight_value(const lab_eight *eight, int index)
{
    const double values[LAB_EIGHT] = {eight->sm,   eight->memory, eight->l1,     eight->l2,
                                      eight->dram, eight->l1_hit, eight->l2_hit, eight->memory_gbps};
    return index >= 0 && index < LAB_EIGHT ? values[index] : (double)NAN;
}

static double global_requests(const lab_counters *c)
{
    return c->load.requests + c->store.requests + c->atomic.requests + c->copy.requests;
}

static double ctas_of(const lab_counters *c)
{
    return c->ctas > 0 ? (double)c->ctas : 1;
}

static int warps_of_cta(const lab_counters *c)
{
    return c->threads > 0 ? (c->threads + 31) / 32 : 1;
}

static int uses_wgmma(const lab_counters *c)
{
    return c->tensor_shared_bytes > 0;
}

static double mma_flops(const inputs *in)
{
    return in->dtype == TSR_F64 ? MMA_F64_FLOPS : MMA_FLOPS;
}

/* FLOP of an SM's tensor cores in a clock. */
static double tensor_rate(const inputs *in)
{
    if (in->dtype != TSR_F64)
        return in->gpu->tensor_flops_per_clock;
    return in->gpu->tensor64_flops_per_clock > 0 ? in->gpu->tensor64_flops_per_clock : 2 * in->gpu->fma64_per_clock;
}

/* wgmma needs far fewer instructions. */
static double mma_instructions(const inputs *in)
{
    return uses_wgmma(in->c) ? 0 : in->c->tensor_flops / mma_flops(in);
}

static double estimate_instructions(const inputs *in)
{
    const lab_counters *const c = in->c;
    const int warps = warps_of_cta(c);
    const double global = global_requests(c), shared = c->shared_load_merged.requests + c->shared_store.requests;
    return c->warp_fma + mma_instructions(in) + global * (1 + per_global_access) + shared * (1 + per_shared_access) +
           c->barriers * warps * per_barrier +
           (c->cut_copies * per_cut + c->store_branches * in->k->branch_instructions) * warps;
}

static double more_of(double x, double y)
{
    return x > y ? x : y;
}

/* Passes of L1's data stage: wavefronts of shared memory, and a line of global memory each; but no fewer clocks than it
 * takes to start the lanes. Copies past L1 take another way. */
double lab_lsu_clocks(const lab_counters *c, const lab_gpu_spec *gpu)
{
    const double start = 32 / gpu->lsu_lanes_per_clock;
    return more_of(c->shared_load_merged.wavefronts, start * c->shared_load_merged.requests) +
           more_of(c->shared_store.wavefronts, start * c->shared_store.requests) +
           more_of(c->copy_shared.wavefronts, start * c->copy_shared.requests) +
           more_of(c->load.lines, start * c->load.requests) + more_of(c->store.lines, start * c->store.requests) +
           (c->tensor_shared_bytes + c->bulk_shared_bytes) / 128;
}

static double operand_bytes(const tsr_operand *operand, int64_t rows, int64_t columns)
{
    return (double)rows * (double)columns * (double)tsr_dtype_bytes(operand->dtype);
}

/* Sectors that 16-byte copies ask L2 for beyond those that they need. */
static double read_again(const lab_counters *c)
{
    enum { OF_A_PAIR = 4 };
    return OF_A_PAIR * c->copy_line_pairs;
}

/* What L2 and DRAM see. Each half of L2 keeps its own copy of what its SMs read, so a sector is missed twice; DRAM
 * delivers it once. Where A and B do not fit, each wave of CTAs reads anew what it needs: rows of tiles that the wave
 * covers, and columns. */
static void footprint_of_l2(const lab_counters *c, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu,
                            lab_prediction *out)
{
    const double batch = (double)desc->batch_count;
    const double a = desc->flags & TSR_SPARSE24_A ? (double)tsr_form24_of(desc->a.dtype, desc->m, desc->k).bytes * batch
                                                  : operand_bytes(&desc->a, desc->m, desc->k) * batch;
    const double b = desc->flags & TSR_SPARSE24_B ? (double)tsr_form24_of(desc->b.dtype, desc->n, desc->k).bytes * batch
                                                  : operand_bytes(&desc->b, desc->k, desc->n) * batch;
    const double d = operand_bytes(&desc->d, desc->m, desc->n) * batch;
    const double resident = (double)out->occupancy.ctas * gpu->sms, waves = ceil((double)c->ctas / resident);
    double read = a + b;
    if (read > (double)gpu->l2_bytes && waves > 1) {
        /* CTAs in rows of tiles; tiles taken as square. */
        const double across = sqrt((double)c->ctas / batch * (double)desc->n / (double)desc->m);
        const double columns = resident < across ? resident / across : 1;
        const double anew = a + b * columns * waves;
        read = anew > read ? anew : read;
    }
    out->l2_read_sectors =
        (c->load.sectors + c->copy.sectors) * c->l1_load_miss_rate + read_again(c) + c->bulk_load.sectors;
    if (read > out->l2_read_sectors * LAB_SECTOR_BYTES)
        read = out->l2_read_sectors * LAB_SECTOR_BYTES;
    /* Of readers spread over both halves, how many halves see a sector; the second asks the first. */
    const double sectors = read / LAB_SECTOR_BYTES;
    const double halves = sectors > 0 ? 2 * (1 - pow(0.5, out->l2_read_sectors / sectors)) : 0;
    out->l2_miss_sectors = halves * sectors;
    out->l2_lookup_sectors =
        out->l2_read_sectors + (halves > 1 ? halves - 1 : 0) * sectors + c->store.sectors + c->bulk_store.sectors;
    /* What is written stays in L2 if there is room. */
    const double written = a + b + d > (double)gpu->l2_bytes ? d : 0;
    out->dram_bytes = read + written;
}

/* What one SM asks L2 for on its own behalf when a launch starts (sectors, all there): read off runs on an H200 with
 * few CTAs, whatever the kernel. */
static const double of_an_sm = 200;

/* Requests of several SMs for a sector that is under way are merged between L1 and L2. SMs that begin together ask for
 * what they share in pairs; along K they drift apart, by a factor of e in so many steps of K. Both numbers are read off
 * an H200's counters. 16-byte copies past L1 are not merged. */
static double merged_reads(const lab_counters *c, int64_t k)
{
    const double of_a_pair = 0.5, drift = 512;
    const double reads = more_of(c->l2.reads - c->copy_past_l1.sectors, 0);
    const double in_step = k > 0 ? drift / (double)k * (1 - exp(-(double)k / drift)) : 1;
    const double merged = of_a_pair * in_step * reads, again = more_of(reads - c->l2.read_misses, 0);
    return merged < again ? merged : again;
}

static void model_l2(const lab_counters *c, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu, lab_prediction *out)
{
    const lab_l2_counters *l2 = &c->l2;
    if (!l2->is_known) {
        footprint_of_l2(c, desc, gpu, out);
        return;
    }
    const double sms = (double)(c->ctas < gpu->sms ? c->ctas : gpu->sms);
    out->l2_read_sectors = l2->reads + read_again(c) - merged_reads(c, desc->k);
    out->l2_miss_sectors = l2->read_misses + l2->home_misses;
    out->l2_lookup_sectors = out->l2_read_sectors + l2->home_reads + l2->writes + l2->home_writes + sms * of_an_sm;
    out->dram_bytes = (l2->dram_reads + l2->dram_writes) * LAB_SECTOR_BYTES;
}

/* Where the caches were not followed, eight loads wait together, for DRAM, if one of them misses L1. */
static double wait_cycles(const inputs *in)
{
    enum { AT_ONCE = 8 };
    const lab_counters *const c = in->c;
    if (c->l2.is_known)
        return in->k->dram_wait_cycles * c->dram_waits + l2_wait_cycles * c->l2_waits;
    return in->k->dram_wait_cycles * (1 - pow(1 - c->l1_load_miss_rate, AT_ONCE));
}

/* What one CTA asks of the units of an SM, in cycles if all four schedulers have a share of it. */
typedef struct cta_work {
    double issue, fma, tensor, lsu;
} cta_work;

/* The CTA's share, if each warp starts so many instructions more than those of the mean. */
static cta_work work_of(const inputs *in, const double busy[LAB_LIMIT_LATENCY], double more_instructions)
{
    const double share = in->gpu->sms / ctas_of(in->c);
    const double rate = in->gpu->arch >= HOPPER && !uses_wgmma(in->c) ? mma_sync_share : 1;
    return (cta_work){.issue = busy[LAB_LIMIT_ISSUE] * share + more_instructions * warps_of_cta(in->c) / SCHEDULERS,
                      .fma = busy[LAB_LIMIT_FMA] * share,
                      .tensor = busy[LAB_LIMIT_TENSOR] * share / rate,
                      .lsu = busy[LAB_LIMIT_LSU] * share};
}

/* Cycles in which a warp goes through its instructions, if it is alone on its scheduler. */
static double warp_cycles(const inputs *in, const cta_work *work)
{
    const lab_counters *const c = in->c;
    const double warps = ctas_of(c) * warps_of_cta(c), of_a_scheduler = (double)SCHEDULERS / warps_of_cta(c);
    const double fma_waits = more_of(work->fma * of_a_scheduler - c->warp_fma / warps, 0);
    const double mma = more_of(in->k->mma_cycles, mma_flops(in) * SCHEDULERS / tensor_rate(in));
    return work->issue * of_a_scheduler + fma_waits + (uses_wgmma(c) ? work->tensor : 0) +
           (mma_instructions(in) * mma + c->load.requests * in->k->load_cycles +
            (c->store.requests + c->atomic.requests) * in->k->store_cycles) /
               warps;
}

/* Waits of a CTA on the way, in which none of its warps does anything: for loads; for the first copies; in each step of
 * K, where a CTA of one warp waits for nobody. */
static double wait_of_cta(const inputs *in)
{
    const lab_counters *const c = in->c;
    const double ctas = ctas_of(c), others = 1 - 1.0 / warps_of_cta(c);
    return start_cycles + c->waits / ctas * wait_cycles(in) + (c->copy.requests > 0 ? in->k->dram_wait_cycles : 0) +
           c->barriers / ctas * in->k->step_cycles * others;
}

/* What a unit does for other warps than one: nothing if that one is alone. */
static double behind_others(double cycles, double warps)
{
    return pow(cycles, NORM) - pow(cycles / warps, NORM);
}

/* Cycles in which an SM runs `ctas` CTAs side by side. One warp on each scheduler takes `alone`, in which its own work
 * is contained; many take as long as the units for all of them; in between they wait for each other now and then. */
static double sm_cycles(const lab_counters *c, const cta_work *work, double alone, double ctas)
{
    if (ctas <= 0)
        return 0;
    const double warps = ctas * warps_of_cta(c), used = warps < SCHEDULERS ? warps : SCHEDULERS;
    const double spread = ctas * SCHEDULERS / used, of_scheduler = warps / used;
    const double behind = behind_others(work->issue * spread, of_scheduler) +
                          behind_others(work->fma * spread, of_scheduler) +
                          behind_others(work->tensor * spread, of_scheduler) + behind_others(work->lsu * ctas, warps);
    return pow(pow(alone, NORM) + behind, 1.0 / NORM);
}

/* The same for CTAs whose warps start so many instructions more than those of the mean. */
static double wave_cycles(const inputs *in, const lab_prediction *p, double more_instructions, double ctas)
{
    const cta_work work = work_of(in, p->busy, more_instructions);
    return sm_cycles(in->c, &work, warp_cycles(in, &work) + wait_of_cta(in), ctas);
}

static void fill_busy(const inputs *in, lab_prediction *out)
{
    const lab_counters *const c = in->c;
    const lab_gpu_spec *const gpu = in->gpu;
    out->instructions = estimate_instructions(in);
    out->busy[LAB_LIMIT_ISSUE] = out->instructions / SCHEDULERS / gpu->sms;
    out->busy[LAB_LIMIT_FMA] = (c->fma_f32 / gpu->fma_per_clock + c->fma_f64 / gpu->fma64_per_clock) / gpu->sms;
    out->busy[LAB_LIMIT_TENSOR] = c->tensor_flops / tensor_rate(in) / gpu->sms;
    out->busy[LAB_LIMIT_LSU] = lab_lsu_clocks(c, gpu) / gpu->sms;
    out->busy[LAB_LIMIT_L2] = out->l2_lookup_sectors * LAB_SECTOR_BYTES / gpu->l2_bytes_per_clock;
    out->busy[LAB_LIMIT_DRAM] = out->dram_bytes / gpu->memory_bytes_per_s * gpu->clock_hz;
}

static void fill_time(const inputs *in, lab_prediction *out)
{
    const lab_counters *const c = in->c;
    const int sms = in->gpu->sms;
    lab_limiter busiest = LAB_LIMIT_ISSUE;
    for (lab_limiter i = LAB_LIMIT_FMA; i <= LAB_LIMIT_LSU; i++)
        busiest = out->busy[i] > out->busy[busiest] ? i : busiest;
    const double ctas = ctas_of(c), held = out->occupancy.ctas > 0 ? out->occupancy.ctas : 1;
    const double full = floor(ctas / (held * sms)), rest = ctas - full * held * sms;
    const double more = (c->most_cut_copies - c->cut_copies / ctas) * per_cut +
                        (c->most_store_branches - c->store_branches / ctas) * in->k->branch_instructions;
    /* The launch ends with the slowest of its last CTAs. */
    double cycles = full * wave_cycles(in, out, 0, held) + wave_cycles(in, out, more, ceil(rest / sms));
    out->limiter = cycles > 1.5 * out->busy[busiest] ? LAB_LIMIT_LATENCY : busiest;
    for (lab_limiter i = LAB_LIMIT_L2; i <= LAB_LIMIT_DRAM; i++)
        if (out->busy[i] > cycles) {
            cycles = out->busy[i];
            out->limiter = i;
        }
    out->ns = cycles / in->gpu->clock_hz * 1e9 + launch_ns;
}

static void fill_eight(const lab_counters *c, const lab_gpu_spec *gpu, lab_prediction *out)
{
    const double cycles = out->ns * 1e-9 * gpu->clock_hz, percent = 100 / cycles;
    const double memory_instructions =
        (global_requests(c) + c->shared_load_merged.requests + c->shared_store.requests) / gpu->sms * 32 /
        gpu->lsu_lanes_per_clock;
    lab_eight *const e = &out->eight;
    e->sm = percent * more_of(more_of(out->busy[LAB_LIMIT_ISSUE], out->busy[LAB_LIMIT_TENSOR]),
                              more_of(out->busy[LAB_LIMIT_FMA], memory_instructions));
    e->l1 = percent * out->busy[LAB_LIMIT_LSU];
    e->l2 = percent * out->busy[LAB_LIMIT_L2];
    e->dram = percent * out->busy[LAB_LIMIT_DRAM];
    e->memory = more_of(more_of(e->l1, e->l2), e->dram);
    e->l1_hit = 100 * c->l1_hit_rate;
    e->l2_hit = out->l2_lookup_sectors > 0 ? 100 * (1 - out->l2_miss_sectors / out->l2_lookup_sectors) : (double)NAN;
    e->memory_gbps = out->dram_bytes / out->ns;
}

void lab_predict_by(const lab_time_constants *constants, const lab_counters *counters, const tsr_gemm_desc *desc,
                    const lab_gpu_spec *gpu, lab_prediction *out)
{
    const inputs in = {.c = counters, .gpu = gpu, .k = constants, .dtype = desc->a.dtype};
    *out = (lab_prediction){.occupancy =
                                lab_occupancy_of(gpu, counters->threads, counters->registers, counters->shared_bytes)};
    model_l2(counters, desc, gpu, out);
    fill_busy(&in, out);
    fill_time(&in, out);
    fill_eight(counters, gpu, out);
    if (counters->prepared_bytes > 0)
        out->prepare_ns =
            launch_ns + counters->prepared_bytes / (constants->prepare_share * gpu->memory_bytes_per_s) * 1e9;
}

void lab_predict(const lab_counters *counters, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu, lab_prediction *out)
{
    lab_predict_by(&lab_time, counters, desc, gpu, out);
}
