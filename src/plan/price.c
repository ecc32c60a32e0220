/* Cost models: what a run is expected to take, from the device's peaks and the tile sizes, with one measured constant a
 * config (its efficiency on large problems). They order kernels; they do not promise times. */
#include "plan/price.h"
#include "plan/price_common.h"

#include <math.h>

double tsr_price_peak_flops(const tsr_op *op, const tsr_device *device)
{
    switch (tsr_op_peak(op->compute, op->a, device->kind != TSR_DEVICE_CPU)) {
    case TSR_PEAK_F64:
        return device->peak_flops_f64;
    case TSR_PEAK_TF32:
        return device->peak_flops_tf32;
    case TSR_PEAK_TENSOR16:
        return device->peak_flops_tensor16;
    case TSR_PEAK_TENSOR8:
        return 2 * device->peak_flops_tensor16;
    case TSR_PEAK_F32:
        return device->peak_flops_f32;
    case TSR_PEAK_NONE:
        break;
    }
    return NAN;
}

/* f64 is the one type that kernels multiply on tensor cores and elsewhere. */
static double kernel_peak_flops(const tsr_config *config, const tsr_op *op, const tsr_device *device)
{
    return tsr_config_is_f64_tensor(config) ? device->peak_flops_f64_tensor : tsr_price_peak_flops(op, device);
}

static double work_flops(const tsr_problem *p)
{
    return 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
}

/* Each operand read or written once. */
static double least_bytes(const tsr_problem *p)
{
    const double ab = (double)tsr_dtype_bytes(p->op.a), cd = (double)tsr_dtype_bytes(p->op.d);
    return (double)p->batch *
           (ab * ((double)p->m * (double)p->k + (double)p->k * (double)p->n) + cd * (double)p->m * (double)p->n);
}

double tsr_launch_ns_of(const tsr_profile *f, const tsr_config *config, double launch_ns)
{
    const double overlap_ns = f->launch_overlap_ns; /* measured: launches that follow each other in a stream */
    return config->dependent_launch && launch_ns > overlap_ns ? launch_ns - overlap_ns : launch_ns;
}

double tsr_launch_ns(const tsr_config *config, const tsr_device *device)
{
    return tsr_launch_ns_of(tsr_profile_of(device), config, device->launch_ns);
}

double tsr_slower_launch_ns(const tsr_config *config, const tsr_device *device)
{
    return tsr_launch_ns(config, device) - tsr_launch_ns_of(tsr_profile_of(device), config, TSR_CUDA_LAUNCH_NS);
}

void tsr_price_settle_beside(tsr_price *out, double launch_ns, double compute_ns, double memory_ns, double bytes)
{
    const double work_ns = compute_ns > memory_ns ? compute_ns : memory_ns;
    out->ns = launch_ns + work_ns;
    out->bytes = bytes;
    out->limiter = launch_ns > work_ns ? "launch" : compute_ns > memory_ns ? "compute" : "memory";
}

static void price_cpu(const tsr_config *config, const tsr_problem *problem, const tsr_device *device, tsr_price *out)
{
    const double bytes = least_bytes(problem);
    tsr_price_settle_beside(out, device->launch_ns,
                            work_flops(problem) / (tsr_price_peak_flops(&problem->op, device) * config->efficiency) *
                                1e9,
                            bytes / device->memory_bytes_per_s * 1e9, bytes);
}

/* Nothing overlaps, and each element of D takes an operation more, as does the whole. So it never ties with a config
 * that it is the baseline of, however the machine's peaks came out, and without elements either: which of the two runs
 * decides the bits, and whether operands have a prepared form. */
static void price_sequential(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                             tsr_price *out)
{
    const double bytes = least_bytes(problem), memory_ns = bytes / device->memory_bytes_per_s * 1e9;
    const double results = (double)problem->m * (double)problem->n * (double)problem->batch;
    const double compute_ns =
        (work_flops(problem) + results + 1) / (tsr_price_peak_flops(&problem->op, device) * config->efficiency) * 1e9;
    tsr_price_settle_beside(out, device->launch_ns, compute_ns, memory_ns, bytes);
    out->ns = device->launch_ns + compute_ns + memory_ns;
}

double tsr_price_cached_bytes(const tsr_config *config, const tsr_problem *p, double ctas)
{
    return (double)tsr_dtype_bytes(p->op.a) * ctas * (config->bm + config->bn) * (double)p->k +
           (double)tsr_dtype_bytes(p->op.d) * (double)p->m * (double)p->n * (double)p->batch;
}

void tsr_price_settle(const tsr_config *config, const tsr_problem *p, const tsr_device *device, double work_ns,
                      tsr_price *out)
{
    const double bytes = tsr_price_cached_bytes(config, p, tsr_cta_tiles(config, p));
    /* L2 serves what CTAs read again, at about three times the memory's rate. */
    const double l2_ns = bytes / (tsr_profile_of(device)->l2_share * device->memory_bytes_per_s) * 1e9;
    const double memory_ns = least_bytes(p) / device->memory_bytes_per_s * 1e9;
    tsr_price_settle_beside(out, tsr_launch_ns(config, device), work_ns, l2_ns > memory_ns ? l2_ns : memory_ns, bytes);
}

/* `flops`: what the whole device computes or waits for while the slowest SM is busy. */
static void settle_gpu(const tsr_config *config, const tsr_problem *p, const tsr_device *device, double flops,
                       tsr_price *out)
{
    tsr_price_settle(config, p, device, flops / (kernel_peak_flops(config, &p->op, device) * config->efficiency) * 1e9,
                     out);
}

/* A kernel without tensor cores, one element a thread. The compute term grows when the last CTAs leave SMs idle, and a
 * CTA at the edge computes its whole tile. */
static void price_simt(const tsr_config *config, const tsr_problem *problem, const tsr_device *device, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double ctas = tsr_cta_tiles(config, problem);
    const double warp = 32, lanes = warp * ceil(config->threads_x * config->threads_y / warp); /* as an SM sees them */
    double per_sm = floor(device->cuda.threads_per_sm / lanes);
    if (per_sm > device->cuda.blocks_per_sm)
        per_sm = device->cuda.blocks_per_sm;
    if (per_sm < 1)
        per_sm = 1;
    const double slots = per_sm * device->cuda.sm_count;
    const double thread_ns =
        f->simt_thread_ns; /* of a CTA's life that nothing covers; measured on batches of small problems */
    const double rounds = ceil(ctas / slots);
    /* As many CTAs on each SM. Without shared memory an SM that is not full waits as long as a full one. */
    const double busy = config->bk > 1 ? ceil(ctas / device->cuda.sm_count) * device->cuda.sm_count : rounds * slots;
    settle_gpu(config, problem, device, 2.0 * busy * lanes * (double)problem->k, out);
    const double work_ns = out->ns - tsr_launch_ns(config, device);
    /* Small products wait for each step along K, its loads and two barriers, the longer the more CTAs of an SM do. */
    const double beside = fmin(1, ctas / slots), deep = fmax(1, config->bk / 16.); /* measured up to 16 of K */
    const double step_ns = f->simt_step_ns * deep * (1 + f->simt_beside_share * beside);
    const double waited_ns = config->bk > 1 ? rounds * ceil((double)problem->k / config->bk) * step_ns : 0;
    out->ns += fmax(0, waited_ns - work_ns) + ctas / device->cuda.sm_count * lanes * thread_ns;
}

double tsr_price_uncovered_ns(const tsr_problem *p, const tsr_device *device, int stores)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double share = f->uncovered_share,
                 first_steps = 64; /* of the memory's peak; of K, that a ring of stages holds */
    const double ab = (double)tsr_dtype_bytes(p->op.a) * ((double)p->m * (double)p->k + (double)p->k * (double)p->n);
    const double d = (double)tsr_dtype_bytes(p->op.d) * (double)p->m * (double)p->n;
    const double first = p->k > 0 ? fmin(1, first_steps / (double)p->k) : 0;
    return (double)p->batch * (first * ab + (stores ? d : 0)) / (share * device->memory_bytes_per_s) * 1e9;
}

/* tsr_lines_touched where rows begin at multiples of so many bytes. */
static double lines_of_rows(long long ld_bytes)
{
    const long long both = ld_bytes | LINE_BYTES, step = both & -both; /* the greatest power of two that divides both */
    return 2 - (double)step / LINE_BYTES;
}

double tsr_price_partial_lines_ns(const tsr_problem *p, const tsr_device *device)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double covered_steps = 64; /* of K, that cover no more of it */
    const double partial = lines_of_rows(p->d.ld * (long long)tsr_dtype_bytes(p->op.d)) - 1;
    const double d = (double)tsr_dtype_bytes(p->op.d) * (double)p->m * (double)p->n * (double)p->batch;
    const double shown = p->k > 0 ? fmin(1, covered_steps / (double)p->k) : 1;
    return shown * partial * partial * d / (f->partial_lines_share * device->memory_bytes_per_s) * 1e9;
}

/* Measured on an H200 (perf/LOG): two warps 0.45, four 0.85, eight 1. */
double tsr_price_busy_share(const tsr_profile *f, double warps)
{
    return warps < 4   ? f->busy_warp_share * warps
           : warps < 8 ? f->busy_four_share + f->busy_further_share * (warps - 4)
                       : 1;
}

double tsr_price_rounds(const tsr_profile *f, const tsr_config *config, double per_sm, double warps)
{
    const double held = config->sm_ctas > 0 ? config->sm_ctas : fmax(1, per_sm), whole = floor(per_sm / held),
                 rest = per_sm - whole * held;
    return whole * held / tsr_price_busy_share(f, held * warps) +
           (rest > 0 ? rest / tsr_price_busy_share(f, rest * warps) : 0);
}

double tsr_price_transposing(const tsr_profile *f, const tsr_config *config, const tsr_problem *p)
{
    const int most_columns =
        32; /* beside which copies of 4 bytes show: of A as it is, whose tile is all that is copied */
    if (config->align_elems <= 1 && config->bn > most_columns)
        return 1;
    const double a = (p->a.trans == TSR_N) / (double)config->bn, b = (p->b.trans == TSR_T) / (double)config->bm;
    return (1 + f->transposed_copy_fmas * (a + b)) / (1 + f->transposed_copy_fmas / config->bn);
}

int tsr_is_stored_by_quads(const tsr_problem *p)
{
    return p->d.ld * (long long)tsr_dtype_bytes(p->op.d) % 16 == 0 && p->d.align_bytes % 16 == 0;
}

double tsr_price_elements_ns(const tsr_profile *f, const tsr_config *config, const tsr_problem *problem, double per_sm,
                             double multiply_ns)
{
    const double warps = fmax(8, fmax(2, config->sm_ctas) * config->threads_x * config->threads_y / 32);
    const double stored_ns =
        config->align_elems > 1 ? 0 : 64 / (warps * warps) * per_sm * config->bm * config->bn * f->elements_ns;
    return tsr_is_stored_by_quads(problem) ? fmax(0, stored_ns - multiply_ns) : stored_ns;
}

/* A kernel with register tiles, of which a few warps keep an SM busy: the SM that gets most CTAs decides, in whatever
 * order it runs them. `edge` rows and columns of a tile at the edge are copied element by element. Both constants were
 * measured on an H200. */
static void price_edges(const tsr_config *config, const tsr_problem *problem, const tsr_device *device, double edge,
                        double transposing, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    /* Until the first tile is there; all of it shows where the launch itself does not. */
    const double fill_ns = config->dependent_launch ? f->regtile_early_fill_ns : f->regtile_fill_ns;
    const double element_cycles = f->regtile_element_cycles; /* a thread's time for one element of an edge tile */
    const double cycle_flops = 2 * 128.;                     /* of an SM */
    const double sms = device->cuda.sm_count, threads = config->threads_x * config->threads_y;
    const double k = ceil((double)problem->k / config->bk) * config->bk; /* what is missing of the last step is zeros */
    /* A thread that reads each step's fragments when it needs them waits, unless it has many sums or others are there.
     */
    const double sums = config->bm * config->bn / threads,
                 waits = config->family == TSR_FAMILY_REGTILE ? fmin(1, sums / 64) : 1;
    const double per_sm = ceil(tsr_cta_tiles(config, problem) / sms);
    const double tile = 2. * config->bm * config->bn * k;
    const double copies = edge / threads * element_cycles * cycle_flops * k * config->efficiency;
    const double flops =
        per_sm > 0 ? sms * (transposing * tile * tsr_price_rounds(f, config, per_sm, waits * threads / 32) + copies)
                   : 0;
    settle_gpu(config, problem, device, flops, out);
    /* Of configs that all wait for memory, the one that multiplies faster comes first. */
    const double tie_ns = 1e-3 * flops / (kernel_peak_flops(config, &problem->op, device) * config->efficiency) * 1e9;
    const double alone_ns = tsr_price_elements_ns(f, config, problem, per_sm, 1e3 * tie_ns);
    out->ns += fill_ns + tsr_price_uncovered_ns(problem, device, 1) + tie_ns + alone_ns;
}

static void price_regtile(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                          tsr_price *out)
{
    const double edge =
        (problem->m % config->bm != 0 ? config->bm : 0) + (problem->n % config->bn != 0 ? config->bn : 0);
    price_edges(config, problem, device, edge, tsr_price_transposing(tsr_profile_of(device), config, problem), out);
}

/* Register tiles for a short K, whose CTAs copy and store element by element. What their warps issue decides beside the
 * way of the stages from memory: multiply-adds, reads of fragments, copies, stores, and what a warp takes whatever its
 * tile. Constants: measured on an H200 in graphs, perf/LOG. */
static void price_short_k(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                          tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    enum { SHARPNESS = 2, SCHEDULERS = 4, CLOCK_FLOPS = 2 * 128 /* of an SM */ };
    const double sms = device->cuda.sm_count, threads = config->threads_x * config->threads_y;
    /* Of multiply-adds, so that the emulated device weighs this against other kernels as the GPU does. */
    const double ghz = kernel_peak_flops(config, &problem->op, device) / (sms * CLOCK_FLOPS) * 1e-9;
    const double rows = (double)config->bm / config->threads_y, columns = (double)config->bn / config->threads_x;
    const double stages = config->smem_bytes / (4. * config->bk * (config->bm + config->bn + 8));
    const double tiles = tsr_cta_tiles(config, problem), per_sm = ceil(tiles / sms);
    const double steps = ceil((double)problem->k / config->bk);
    const double issued = steps * config->bk * (rows * columns + (rows + columns) / 4) +
                          (double)problem->k * (config->bm + config->bn) / threads * f->short_k_copy_clocks +
                          rows * columns * f->short_k_value_clocks + f->short_k_warp_clocks;
    const double of_cta = threads / 32 / SCHEDULERS; /* warps of a scheduler */
    const double issue = per_sm * of_cta * issued / f->short_k_issue_share;
    const double waits = ceil(per_sm / config->sm_ctas) * f->short_k_stage_clocks * steps / (stages - 1) +
                         issued * fmax(1, fmin(per_sm, config->sm_ctas) * of_cta);
    tsr_price_settle_beside(out, tsr_slower_launch_ns(config, device) + f->short_k_start_ns,
                            overlapped(SHARPNESS, issue, waits) / ghz,
                            least_bytes(problem) / (f->short_k_memory_share * device->memory_bytes_per_s) * 1e9,
                            tsr_price_cached_bytes(config, problem, tiles));
}

/* As price_regtile, where a tile at the edge is copied like any other. */
static void price_warptile(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                           tsr_price *out)
{
    price_edges(config, problem, device, 0, tsr_price_transposing(tsr_profile_of(device), config, problem), out);
    if (tsr_is_stored_by_quads(problem))
        out->ns += tsr_price_partial_lines_ns(problem, device);
}

/* The same for operands that no copy transposes. */
static void price_warptile_nn(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                              tsr_price *out)
{
    price_edges(config, problem, device, 0, 1, out);
    if (tsr_is_stored_by_quads(problem))
        out->ns += tsr_price_partial_lines_ns(problem, device);
}

/* Multiplying warps beside a group of 128 threads that feeds them. A tile of D leaves when its sums are complete, and
 * its SM multiplies nothing meanwhile but what other CTAs have. Slabs of 32 rows that must be transposed take turns
 * with the multipliers at shared memory, which shows from the fifth on. Constants: measured on an H200, perf/LOG. */
static void price_warp_specialized(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                                   tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double fill_ns = f->warp_specialized_fill_ns, quads_ns = f->warp_specialized_quads_ns,
                 elements_ns = f->elements_ns; /* the latter two for each value of D */
    const int by_quads = tsr_is_stored_by_quads(problem);
    const double sms = device->cuda.sm_count, per_sm = ceil(tsr_cta_tiles(config, problem) / sms);
    const double tile = (double)config->bm * config->bn, values = per_sm * tile,
                 rounds = tsr_price_rounds(f, config, per_sm, (config->threads_x - 128) / 32.);
    const double slab_share = f->warp_specialized_slab_share;
    const double slabs =
        ((problem->a.trans == TSR_N ? config->bm : 0) + (problem->b.trans == TSR_T ? config->bn : 0)) / 32.;
    const double transposing = 1 + slab_share * fmax(0, slabs - 4);
    settle_gpu(config, problem, device, transposing * 2 * sms * rounds * tile * (double)problem->k, out);
    out->ns += fill_ns + values * (by_quads ? quads_ns : elements_ns) + tsr_price_uncovered_ns(problem, device, 0) +
               (by_quads ? 0 : tsr_price_partial_lines_ns(problem, device));
}

int tsr_output_is_whole(const tsr_problem *p)
{
    const long long element = (long long)tsr_dtype_bytes(p->op.d);
    return p->n * element % 16 == 0 && p->d.ld * element % 16 == 0;
}

double tsr_price_output_ns(const tsr_problem *p, const tsr_device *device)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double whole_share = f->tensor_output_whole_share,
                 partial_share = f->tensor_output_partial_share; /* of the memory's rate, measured with short sums */
    const long long element = (long long)tsr_dtype_bytes(p->op.d);
    return (double)p->m * (double)p->n * (double)p->batch * (double)element /
           ((tsr_output_is_whole(p) ? whole_share : partial_share) * device->memory_bytes_per_s) * 1e9;
}

double tsr_lines_touched(const tsr_problem *p, char which)
{
    return lines_of_rows(tsr_problem_operand(p, which)->ld * tsr_problem_element(p, which));
}

double tsr_price_input_ns(const tsr_problem *p, const tsr_device *device, double lines_power)
{
    const double share = tsr_profile_of(device)->tensor_input_share;
    const double a = (double)p->m * (double)p->k * pow(tsr_lines_touched(p, 'a'), lines_power);
    const double b = (double)p->k * (double)p->n * pow(tsr_lines_touched(p, 'b'), lines_power);
    return (double)tsr_dtype_bytes(p->op.a) * (double)p->batch * (a + b) / (share * device->memory_bytes_per_s) * 1e9;
}

/* How often each line of an operand is asked for, beyond once for each of `sharers` tiles beside each other, in a step
 * along K. Only where rows lie along M or N and are short: several rows of K are in a line, or several tiles. */
static double requests_of_line(const tsr_problem *p, char which, double tile, double sharers)
{
    const double line = LINE_BYTES / (double)tsr_problem_element(p, which);
    long long rows, columns;
    tsr_stored_shape(p, which, &rows, &columns);
    const int is_along_k = (which == 'a') == (tsr_problem_operand(p, which)->trans == TSR_N);
    if (is_along_k || columns <= 0)
        return 0;
    const double tiles = ceil((double)columns / fmin(tile, line));
    return sharers * fmax(0, tiles * line / (double)columns - 1);
}

double tsr_line_queue_ns(const tsr_profile *f, const tsr_problem *problem, double tile_m, double tile_n,
                         double shared_m, double shared_n, double steps)
{
    const double request_ns = f->queue_request_ns;
    const double along_m = ceil((double)problem->m / (tile_m * shared_m));
    const double along_n = ceil((double)problem->n / (tile_n * shared_n));
    return request_ns * steps *
           fmax(requests_of_line(problem, 'b', tile_n, along_m), requests_of_line(problem, 'a', tile_m, along_n));
}

/* A kernel that multiplies with mma.sync or wmma what its threads load: the SM that gets most CTAs decides. Its tiles
 * have `depth` of K in all, more where warps are too few for the full rate; `per_sm` tiles are stored. */
static void price_loaded_by_threads(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                                    double depth, double per_sm, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double flops = 2.0 * depth * device->cuda.sm_count * config->bm * config->bn;
    settle_gpu(config, problem, device, flops, out);
    /* Where memory takes nearly as long as products, they do not overlap perfectly. */
    const double peak = kernel_peak_flops(config, &problem->op, device) * config->efficiency;
    const double flops_ns = flops / peak * 1e9;
    const double sharpness = f->tensor_sharpness, memory_ns = least_bytes(problem) / device->memory_bytes_per_s * 1e9;
    out->ns += overlapped_by(sharpness, flops_ns, memory_ns) - fmax(flops_ns, memory_ns);
    /* The first tiles' arrival, and D by threads: each stores its values one by one, or in pairs where D is aligned, as
     * far as D reaches into the half of the tile that its warp has. Measured. */
    const double fill_ns = f->tensor_fill_ns, one_ns = f->tensor_one_ns, pair_ns = f->tensor_pair_ns,
                 cta_ns = f->tensor_cta_ns; /* the latter: a CTA's life among others */
    const double share = fmin(1, (double)problem->m * 2 / config->bm) * fmin(1, (double)problem->n * 2 / config->bn);
    const double values = share * config->bm * config->bn / (config->threads_x * config->threads_y);
    const double step = 64;                                          /* of the other tensor kernels */
    const int by_groups = config->align_elems > 1 || config->scaled; /* the latter: fours, through shared memory */
    out->ns += fill_ns + fmax(per_sm * values * (by_groups ? pair_ns : one_ns), (per_sm - 1) * cta_ns) +
               tsr_line_queue_ns(f, problem, config->bm, config->bn, 1, 1, ceil((double)problem->k / step));
}

static void price_tensor(const tsr_config *config, const tsr_problem *problem, const tsr_device *device, tsr_price *out)
{
    /* Four warps feed the four tensor cores of an SM; eight hide what each of them waits for. Half the rate with four
     * is a guess. */
    const double per_sm = ceil(tsr_cta_tiles(config, problem) / device->cuda.sm_count);
    const double busy = fmin(1, per_sm * config->threads_x * config->threads_y / 32 / 8);
    price_loaded_by_threads(config, problem, device, busy > 0 ? per_sm * (double)problem->k / busy : 0, per_sm, out);
    /* As in f64: an SM has registers for one such tile. In 16 bits not measured. */
    if (problem->op.compute == TSR_COMPUTE_TF32 && config->bm * config->bn >= 128 * 256)
        out->ns += tsr_profile_of(device)->tensor_alone_ns * per_sm;
}

/* Steps along K that an SM makes, more where few warps do: of units with `share` steps each, and beside them and behind
 * them of whole tiles, as many at once as fit. */
static double f64_steps(const tsr_profile *f, const tsr_config *config, double units, double share, double whole,
                        double steps)
{
    const double warps = config->threads_x * config->threads_y / 32., beside = units > 0 && whole > 0 ? 1 : 0;
    const double held = fmin(whole, fmax(1, config->sm_ctas - units)), together = fmin(share, steps);
    double all = units > 0 ? units * share / tsr_price_busy_share(f, (units + held * beside) * warps) : 0;
    if (whole > 0)
        all += tsr_price_rounds(f, config, whole, warps) * steps;
    if (beside != 0) /* that many of these steps were made beside the units, with more warps */
        all -= held * together *
               (1 / tsr_price_busy_share(f, held * warps) - 1 / tsr_price_busy_share(f, (units + held) * warps));
    return all;
}

/* Units of stream-K run beside or before whole tiles. The last unit of a tile adds the others' sums, many of them in
 * two rounds (kernels/collective/f64_partials.h). */
static void price_mma_f64(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                          const tsr_launch_config *launch, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double shared = launch->schedule.stream_k_tiles, units = launch->schedule.stream_k_units;
    const double sms = device->cuda.sm_count, whole = tsr_cta_tiles(config, problem) - shared;
    const double whole_per_sm = ceil(whole / sms), units_per_sm = ceil(units / sms);
    const double steps = ceil((double)problem->k / config->bk), share = units > 0 ? steps * shared / units : 0;
    const int is_uneven = units > 0 && fmod(units, shared) != 0; /* units have two pieces, one behind the other */
    const double depth = (is_uneven ? f->mma_f64_uneven : 1) * config->bk *
                         f64_steps(f, config, units_per_sm, share, whole_per_sm, steps);
    price_loaded_by_threads(config, problem, device, depth, whole_per_sm + (units > 0), out);
    if (config->sm_ctas == 1) /* nothing else runs while a tile's first operands come, and while it is stored */
        out->ns += f->tensor_alone_ns * whole_per_sm;
    if (units == 0)
        return;
    const double parts = units / shared + (fmod(units, shared) != 0), group = parts > 16 ? 8 : 4,
                 groups = ceil(parts / group), rounds = groups > 1 ? 2 : 1;
    const double tiles = 1 + fmin(parts, group) + (groups > 1 ? 1 + groups : 0); /* written and read, of sums */
    out->ns += rounds * f->mma_f64_handover_ns + tiles * 8 * config->bm * config->bn / f->mma_f64_sums_bytes_per_ns +
               (is_uneven ? f->mma_f64_second_ns : 0);
}

/* A small tile for products of a few steps along K, each of which waits for memory, the longer the more CTAs ask for
 * elements. Where an SM has many CTAs, the instructions count that each of them takes. Constants: measured on an H200,
 * perf/LOG. */
static void price_wmma_small(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                             tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double sms = device->cuda.sm_count, ctas = tsr_cta_tiles(config, problem);
    const double lines = fmin(config->bm, (double)problem->m) + fmin(config->bn, (double)problem->n);
    const double filled = (double)problem->k / config->bk * lines / (config->bm + config->bn);
    const double waits_ns =
        f->wmma_small_step_ns * ceil((double)problem->k / config->bk) + f->wmma_small_cta_ns * fmin(ctas, sms) * filled;
    const double busy_ns = ceil(ctas / sms) * (f->wmma_small_life_ns + f->wmma_small_busy_ns * filled);
    tsr_price_settle_beside(out, f->wmma_small_start_ns, fmax(waits_ns, busy_ns),
                            tsr_price_input_ns(problem, device, f->tensor_lines_power) +
                                tsr_price_output_ns(problem, device),
                            tsr_price_cached_bytes(config, problem, ctas));
    out->gpu_ns = out->ns;
    out->launches = 1;
    out->ns = tsr_launched_ns(f, 1, out->gpu_ns) + tsr_slower_launch_ns(config, device);
}

/* mma.sync fed by the copy engine: 64 x 64 of D for each multiplying warp, eight of which keep an SM's tensor cores
 * busy. A warp stores while others multiply. Constants: measured on an H200, perf/LOG. */
static void price_mma_tma(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                          tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double fill_ns = f->mma_tma_fill_ns, warp_values = 64 * 64, step = 64;
    /* Threads store what the copy engine cannot, and tiles that D does not fill. */
    const int by_engine = tsr_output_is_whole(problem) && problem->m % config->bm == 0 && problem->n % config->bn == 0;
    const double store_ns_per_value = by_engine ? f->mma_tma_engine_value_ns : f->mma_tma_thread_value_ns;
    const double per_sm = ceil(tsr_cta_tiles(config, problem) / device->cuda.sm_count),
                 values = per_sm * config->bm * config->bn;
    const double busy = fmin(1, values / warp_values / 8),
                 peak = tsr_price_peak_flops(&problem->op, device) * config->efficiency;
    const double flops = busy > 0 ? 2 * device->cuda.sm_count * values * (double)problem->k / busy : 0;
    tsr_price_settle_beside(
        out, tsr_launch_ns(config, device) + fill_ns,
        flops / peak * 1e9 + fmax(0, per_sm - 1) * fill_ns + values * store_ns_per_value +
            tsr_line_queue_ns(f, problem, config->bm, config->bn, 1, 1, ceil((double)problem->k / step)),
        fmax(tsr_price_input_ns(problem, device, f->tensor_lines_power), tsr_price_output_ns(problem, device)),
        tsr_price_cached_bytes(config, problem, tsr_cta_tiles(config, problem)));
}

/* ---- one price for each family ---- */

void tsr_pricing_begin(tsr_pricing *pricing, const tsr_config *config, const tsr_problem *problem,
                       const tsr_device *device)
{
    pricing->config = config;
    pricing->problem = problem;
    pricing->device = device;
    if (config->family == TSR_FAMILY_WGMMA)
        tsr_wgmma_begin(&pricing->of.wgmma, config, problem, device);
    else if (config->family == TSR_FAMILY_WGMMA_SKINNY)
        tsr_skinny_begin(&pricing->of.skinny, config, problem, device,
                         tsr_config_whole(config, problem->m, problem->n).swap_ab);
}

/* Prices of families whose configs have one schedule. */
static void price_whole(const tsr_pricing *x, tsr_price *out)
{
    switch (x->config->family) {
    case TSR_FAMILY_CPU_SEQUENTIAL:
        price_sequential(x->config, x->problem, x->device, out);
        return;
    case TSR_FAMILY_CPU_TILED:
        price_cpu(x->config, x->problem, x->device, out);
        return;
    case TSR_FAMILY_SIMT:
        price_simt(x->config, x->problem, x->device, out);
        return;
    case TSR_FAMILY_SHORT_K:
        price_short_k(x->config, x->problem, x->device, out);
        return;
    case TSR_FAMILY_REGTILE:
        price_regtile(x->config, x->problem, x->device, out);
        return;
    case TSR_FAMILY_WARPTILE:
        price_warptile(x->config, x->problem, x->device, out);
        return;
    case TSR_FAMILY_WARPTILE_NN:
        price_warptile_nn(x->config, x->problem, x->device, out);
        return;
    case TSR_FAMILY_WARP_SPECIALIZED:
        price_warp_specialized(x->config, x->problem, x->device, out);
        return;
    case TSR_FAMILY_TENSOR:
        price_tensor(x->config, x->problem, x->device, out);
        return;
    case TSR_FAMILY_WMMA_SMALL:
        price_wmma_small(x->config, x->problem, x->device, out);
        return;
    case TSR_FAMILY_MMA_TMA:
        price_mma_tma(x->config, x->problem, x->device, out);
        return;
    default: /* tsr_price_launch has the others; steps around a product have no price of their own */
        out->ns = INFINITY;
        return;
    }
}

/* Prices of f32 and of tf32 are not so exact beside each other that a small difference counts: f32 for who allows tf32
 * must be cheaper by a margin. */
static void add_margin(const tsr_pricing *x, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(x->device);
    if (x->problem->op.compute == TSR_COMPUTE_TF32 && tsr_op_of(&x->config->op).compute == TSR_COMPUTE_F32)
        out->ns = out->ns * f->f32_for_tf32_share + f->f32_for_tf32_ns;
}

void tsr_price_launch(tsr_pricing *x, const tsr_launch_config *launch, double best_ns, tsr_price *out)
{
    const double slower_ns = tsr_slower_launch_ns(x->config, x->device);
    *out = (tsr_price){0};
    switch (x->config->family) {
    case TSR_FAMILY_STREAM_K:
        tsr_price_stream_k(x->config, x->problem, x->device, launch, out);
        add_margin(x, out);
        return;
    case TSR_FAMILY_CLUSTER_K:
        tsr_price_cluster_k(x->config, x->problem, x->device, launch, out);
        add_margin(x, out);
        return;
    case TSR_FAMILY_THIN:
        tsr_price_thin(x->config, x->problem, x->device, launch, out);
        break;
    case TSR_FAMILY_MMA_F64:
        price_mma_f64(x->config, x->problem, x->device, launch, out);
        break;
    case TSR_FAMILY_WGMMA_KMAJOR:
        tsr_price_kmajor(x->config, x->problem, x->device, launch, out);
        break;
    case TSR_FAMILY_WGMMA:
        tsr_price_wgmma(&x->of.wgmma, launch, best_ns - slower_ns, out);
        out->ns += slower_ns;
        break;
    case TSR_FAMILY_WGMMA_SKINNY:
        tsr_price_skinny(&x->of.skinny, x->config, x->problem, x->device, launch, best_ns - slower_ns, out);
        out->ns += slower_ns;
        break;
    default:
        price_whole(x, out);
        break;
    }
    out->rank_ns = out->ns;
    add_margin(x, out);
}
