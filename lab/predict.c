#include "lab/predict.h"

#include <math.h>

#include "lab/warp_cost.h"

/* Constants of the model, the same for every kernel and GPU. Fitted to some kernels and shapes on an H200, which
 * docs/PREDICTIONS.md names, but for the wait for L2, an estimate of an idle Hopper's latency.
 *
 * Of code as nvcc makes it: instructions beside the accesses and multiply-adds that the source asks for. */
static const double per_global_access = 3, per_shared_access = 0.5, per_barrier = 12, per_cut = 10, per_branch = 6;
/* Of an SM: cycles that a CTA waits for loads that come from DRAM, and from L2. */
static const double dram_wait_cycles = 800, l2_wait_cycles = 270;
/* Cycles in which a warp waits for itself: from a barrier to the first sum behind it; for a copy that the matrix's edge
 * cuts; at a condition before a store; before it begins, and when it has ended, until another takes its place. */
static const double step_cycles = 125, cut_cycles = 20, branch_cycles = 12, start_cycles = 1000;
static const double launch_ns = 4000;

enum { SCHEDULERS = 4 };

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

static double estimate_instructions(const lab_counters *c)
{
    enum { TENSOR_FLOPS = 4096 }; /* of one mma.sync m16n8k16; wgmma needs far fewer instructions than that */
    const int warps = (c->threads + 31) / 32;
    const double global = global_requests(c), shared = c->shared_load_merged.requests + c->shared_store.requests;
    const double matrix = c->tensor_shared_bytes > 0 ? 0 : c->tensor_flops / TENSOR_FLOPS;
    return c->warp_fma + matrix + global * (1 + per_global_access) + shared * (1 + per_shared_access) +
           c->barriers * warps * per_barrier + (c->cut_copies * per_cut + c->store_branches * per_branch) * warps;
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
    const double a = operand_bytes(&desc->a, desc->m, desc->k) * batch;
    const double b = operand_bytes(&desc->b, desc->k, desc->n) * batch;
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

static void model_l2(const lab_counters *c, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu, lab_prediction *out)
{
    const lab_l2_counters *l2 = &c->l2;
    if (!l2->is_known) {
        footprint_of_l2(c, desc, gpu, out);
        return;
    }
    const double sms = (double)(c->ctas < gpu->sms ? c->ctas : gpu->sms);
    out->l2_read_sectors = l2->reads + read_again(c);
    out->l2_miss_sectors = l2->read_misses + l2->home_misses;
    out->l2_lookup_sectors = out->l2_read_sectors + l2->home_reads + l2->writes + l2->home_writes + sms * of_an_sm;
    out->dram_bytes = (l2->dram_reads + l2->dram_writes) * LAB_SECTOR_BYTES;
}

/* Where the caches were not followed, eight loads wait together, for DRAM, if one of them misses L1. */
static double wait_cycles(const lab_counters *c)
{
    enum { AT_ONCE = 8 };
    if (c->l2.is_known)
        return dram_wait_cycles * c->dram_waits + l2_wait_cycles * c->l2_waits;
    return dram_wait_cycles * (1 - pow(1 - c->l1_load_miss_rate, AT_ONCE));
}

/* How much longer a lone warp takes than its busiest unit: it goes through its multiply-adds and its accesses of shared
 * memory one after the other, and through all of its instructions; other warps let the units work side by side. */
static double lone_stretch(const lab_prediction *p)
{
    const double math = p->busy[LAB_LIMIT_FMA] + p->busy[LAB_LIMIT_TENSOR];
    const double issue = p->busy[LAB_LIMIT_ISSUE], lsu = p->busy[LAB_LIMIT_LSU];
    const double busiest = more_of(issue, more_of(math, lsu));
    return busiest > 0 ? more_of(issue, math + lsu) / busiest - 1 : 0;
}

/* What one CTA does: its share of the busiest unit, and what it waits for, one after the other. */
typedef struct cta_time {
    double work, stretch; /* cycles of the busiest unit; how much more a lone warp takes */
    double latency;       /* cycles in which none of its warps does anything */
} cta_time;

/* Cycles in which an SM runs `ctas` CTAs side by side: its units' work, stretched where schedulers have few warps; or
 * one CTA's work and waits, one after the other. Near each other, the two get into each other's way. */
static double sm_cycles(const lab_counters *c, const cta_time *cta, double ctas)
{
    if (ctas <= 0)
        return 0;
    const int cta_warps = (c->threads + 31) / 32;
    const double warps = ctas * cta_warps / SCHEDULERS;
    const double stretched = cta->work * (1 + cta->stretch / warps);
    const double units = ctas * stretched, alone = stretched + cta->latency;
    return pow(pow(units, 4) + pow(alone, 4), 0.25);
}

/* Waits of a CTA on the way: for loads; for the first copies; in each step of K, from the barrier through the loads of
 * shared memory to the first sum; at conditions, and addresses that are worked out anew, in code that one warp walks
 * through alone. */
static double latency_of(const lab_counters *c, double ctas, double cut_copies, double store_branches)
{
    return start_cycles + c->waits / ctas * wait_cycles(c) + (c->copy.requests > 0 ? dram_wait_cycles : 0) +
           c->barriers / ctas * step_cycles + cut_copies * cut_cycles + store_branches * branch_cycles;
}

static void fill_busy(const lab_counters *c, const lab_gpu_spec *gpu, lab_prediction *out)
{
    out->instructions = estimate_instructions(c);
    out->busy[LAB_LIMIT_ISSUE] = out->instructions / SCHEDULERS / gpu->sms;
    out->busy[LAB_LIMIT_FMA] = (c->fma_f32 / gpu->fma_per_clock + c->fma_f64 / gpu->fma64_per_clock) / gpu->sms;
    out->busy[LAB_LIMIT_TENSOR] = c->tensor_flops / gpu->tensor_flops_per_clock / gpu->sms;
    out->busy[LAB_LIMIT_LSU] = lab_lsu_clocks(c, gpu) / gpu->sms;
    out->busy[LAB_LIMIT_L2] = out->l2_lookup_sectors * LAB_SECTOR_BYTES / gpu->l2_bytes_per_clock;
    out->busy[LAB_LIMIT_DRAM] = out->dram_bytes / gpu->memory_bytes_per_s * gpu->clock_hz;
}

static void fill_time(const lab_counters *c, const lab_gpu_spec *gpu, lab_prediction *out)
{
    lab_limiter busiest = LAB_LIMIT_ISSUE;
    for (lab_limiter i = LAB_LIMIT_FMA; i <= LAB_LIMIT_LSU; i++)
        busiest = out->busy[i] > out->busy[busiest] ? i : busiest;
    const double ctas = (double)(c->ctas > 0 ? c->ctas : 1), held = out->occupancy.ctas > 0 ? out->occupancy.ctas : 1;
    const double full = floor(ctas / (held * gpu->sms)), rest = ctas - full * held * gpu->sms;
    cta_time cta = {.work = out->busy[busiest] * gpu->sms / ctas, .stretch = lone_stretch(out)};
    cta.latency = latency_of(c, ctas, c->cut_copies / ctas, c->store_branches / ctas);
    double cycles = full * sm_cycles(c, &cta, held);
    /* The launch ends with the slowest of its last CTAs. */
    cta.latency = latency_of(c, ctas, c->most_cut_copies, c->most_store_branches);
    cycles += sm_cycles(c, &cta, ceil(rest / gpu->sms));
    out->limiter = cycles > 1.5 * out->busy[busiest] ? LAB_LIMIT_LATENCY : busiest;
    for (lab_limiter i = LAB_LIMIT_L2; i <= LAB_LIMIT_DRAM; i++)
        if (out->busy[i] > cycles) {
            cycles = out->busy[i];
            out->limiter = i;
        }
    out->ns = cycles / gpu->clock_hz * 1e9 + launch_ns;
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

void lab_predict(const lab_counters *counters, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu, lab_prediction *out)
{
    *out = (lab_prediction){.occupancy =
                                lab_occupancy_of(gpu, counters->threads, counters->registers, counters->shared_bytes)};
    model_l2(counters, desc, gpu, out);
    fill_busy(counters, gpu, out);
    fill_time(counters, gpu, out);
    fill_eight(counters, gpu, out);
    if (counters->prepared_bytes > 0)
        out->prepare_ns = launch_ns + counters->prepared_bytes / gpu->memory_bytes_per_s * 1e9;
}
