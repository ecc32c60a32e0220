/* Cost models: what a run is expected to take, from the device's peaks and the tile sizes, with one measured constant a
 * row (its efficiency on large problems). They order kernels; they do not promise times. */
#include <math.h>

#include "plan/plan.h"

static int on_tensor_cores(const tsr_row *row)
{
    return row->compute == TSR_COMPUTE_TF32 || (row->kind == TSR_ROW_CUDA && tsr_dtype_bytes(row->dtype_ab) == 2);
}

static double peak_flops(const tsr_row *row, const tsr_device *device)
{
    if (on_tensor_cores(row))
        return row->compute == TSR_COMPUTE_TF32 ? device->peak_flops_tf32 : device->peak_flops_tensor16;
    return row->compute == TSR_COMPUTE_F64 ? device->peak_flops_f64 : device->peak_flops_f32;
}

static double work_flops(const tsr_problem *p)
{
    return 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
}

/* Each operand read or written once. */
static double least_bytes(const tsr_problem *p)
{
    const double ab = (double)tsr_dtype_bytes(p->a.dtype), cd = (double)tsr_dtype_bytes(p->d.dtype);
    return (double)p->batch *
           (ab * ((double)p->m * (double)p->k + (double)p->k * (double)p->n) + cd * (double)p->m * (double)p->n);
}

double tsr_launch_ns(const tsr_row *row, const tsr_device *device)
{
    const double overlap_ns = 1300; /* measured: launches that follow each other in a stream */
    return row->starts_early && device->launch_ns > overlap_ns ? device->launch_ns - overlap_ns : device->launch_ns;
}

static void settle(tsr_cost *out, double launch_ns, double compute_ns, double memory_ns, double bytes)
{
    const double work_ns = compute_ns > memory_ns ? compute_ns : memory_ns;
    out->ns = launch_ns + work_ns;
    out->bytes = bytes;
    out->limiter = launch_ns > work_ns ? "launch" : compute_ns > memory_ns ? "compute" : "memory";
}

void tsr_cost_cpu(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    const double bytes = least_bytes(problem);
    settle(out, device->launch_ns, work_flops(problem) / (peak_flops(row, device) * row->efficiency) * 1e9,
           bytes / device->memory_bytes_per_s * 1e9, bytes);
}

/* What goes to and from the caches: each CTA reads its BM rows of A and BN columns of B once. */
static double cached_bytes(const tsr_row *row, const tsr_problem *p, double ctas)
{
    return (double)tsr_dtype_bytes(p->a.dtype) * ctas * (row->bm + row->bn) * (double)p->k +
           (double)tsr_dtype_bytes(p->d.dtype) * (double)p->m * (double)p->n * (double)p->batch;
}

static double count_ctas(const tsr_row *row, const tsr_problem *p)
{
    return ceil((double)p->m / row->bm) * ceil((double)p->n / row->bn) * (double)p->batch;
}

/* `flops`: what the whole device computes or waits for while the slowest SM is busy. */
static void settle_gpu(const tsr_row *row, const tsr_problem *p, const tsr_device *device, double flops, tsr_cost *out)
{
    const double bytes = cached_bytes(row, p, count_ctas(row, p));
    /* L2 serves what CTAs read again, at about three times the memory's rate. */
    const double l2_ns = bytes / (3 * device->memory_bytes_per_s) * 1e9;
    const double memory_ns = least_bytes(p) / device->memory_bytes_per_s * 1e9;
    settle(out, device->launch_ns, flops / (peak_flops(row, device) * row->efficiency) * 1e9,
           l2_ns > memory_ns ? l2_ns : memory_ns, bytes);
}

/* A kernel without tensor cores that needs all the threads an SM can hold. The compute term grows when the last wave
 * leaves SMs idle, and a CTA at the edge computes its whole tile. */
void tsr_cost_simt(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    const double ctas = count_ctas(row, problem);
    const double threads = row->threads_x * row->threads_y;
    double per_sm = floor(device->cuda.threads_per_sm / threads);
    if (per_sm > device->cuda.blocks_per_sm)
        per_sm = device->cuda.blocks_per_sm;
    if (per_sm < 1)
        per_sm = 1;
    const double slots = per_sm * device->cuda.sm_count;
    settle_gpu(row, problem, device, 2.0 * ceil(ctas / slots) * slots * row->bm * row->bn * (double)problem->k, out);
}

/* Share of its speed that an SM reaches with so many warps of a register-tiled kernel. Measured on an H200
 * (perf/LOG.md): two warps 0.45, four 0.85, eight 1. */
static double busy_share(double warps)
{
    return warps < 4 ? 0.22 * warps : warps < 8 ? 0.85 + 0.0375 * (warps - 4) : 1;
}

/* A kernel with register tiles, of which a few warps keep an SM busy: the SM that gets most CTAs decides, in whatever
 * order it runs them. `edge` rows and columns of a tile at the edge are copied element by element. Both constants were
 * measured on an H200. */
static void cost_regtile(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, double edge,
                         tsr_cost *out)
{
    const double fill_ns = 1000;         /* until the first tile is there */
    const double element_cycles = 46;    /* a thread's time for one element of an edge tile */
    const double cycle_flops = 2 * 128.; /* of an SM */
    const double sms = device->cuda.sm_count, threads = row->threads_x * row->threads_y, k = (double)problem->k;
    const double per_sm = ceil(count_ctas(row, problem) / sms), busy = busy_share(per_sm * threads / 32);
    const double tiles = 2 * per_sm * row->bm * row->bn * k;
    const double copies = edge / threads * element_cycles * cycle_flops * k * row->efficiency;
    settle_gpu(row, problem, device, busy > 0 ? sms * (tiles / busy + copies) : 0, out);
    out->ns += fill_ns;
}

void tsr_cost_regtile(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    const double edge = (problem->m % row->bm != 0 ? row->bm : 0) + (problem->n % row->bn != 0 ? row->bn : 0);
    cost_regtile(row, problem, device, edge, out);
}

/* The same where a tile at the edge is copied like any other. */
void tsr_cost_regtile_cut(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    cost_regtile(row, problem, device, 0, out);
}

/* D's bytes to memory: the copy engine writes whole sectors; what threads store at any alignment, partial ones too. */
static double output_ns(const tsr_problem *p, const tsr_device *device)
{
    const double whole_share = 0.41, partial_share = 0.23; /* of the memory's rate, measured with short sums */
    const long long element = (long long)tsr_dtype_bytes(p->d.dtype);
    const int is_whole = p->n * element % 16 == 0 && p->d.ld * element % 16 == 0;
    return (double)p->m * (double)p->n * (double)p->batch * (double)element /
           ((is_whole ? whole_share : partial_share) * device->memory_bytes_per_s) * 1e9;
}

static double input_ns(const tsr_problem *p, const tsr_device *device)
{
    const double share = 0.66;
    return (double)tsr_dtype_bytes(p->a.dtype) * (double)p->batch *
           ((double)p->m * (double)p->k + (double)p->k * (double)p->n) / (share * device->memory_bytes_per_s) * 1e9;
}

/* Hopper's tensor kernels. For each step along K an SM takes the longest of three:
 *   - multiplying BM x BN x BK at 4096 FLOP a clock times the row's efficiency (power and pipeline bubbles);
 *   - bringing the operands from L2 at 32 bytes a clock; CTAs of a cluster fetch shared parts once;
 *   - a latency, in which one warp group waits for a stage, multiplies and gives it back.
 * A persistent cluster walks `waves` tiles. Cooperative consumers stop multiplying while they store a tile, ping-pong
 * consumers only for the last one. Memory reads and writes beside that. Constants: fitted to 200 shapes on an H200,
 * perf/LOG.md. */
void tsr_cost_wgmma(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    enum { FLOPS_PER_CLOCK = 4096, LINE_BYTES = 128 };
    const double l2_bytes_per_clock = 31.7, store_ns_per_value = 0.044, cluster_start_ns = 730;
    const double step_ns = row->bm > 64 ? 177 : 86; /* two instructions' rows, or one's */
    const double clock_ghz = device->cuda.core_clock_khz * 1e-6;
    const double cluster = tsr_row_cluster(row), values = (double)row->bm * row->bn;
    const double tiles = ceil((double)problem->m / (row->bm * row->cluster_m)) *
                         ceil((double)problem->n / (row->bn * row->cluster_n)) * (double)problem->batch;
    const double waves = ceil(tiles / fmax(1, floor(device->cuda.sm_count / cluster)));
    const double steps = ceil((double)problem->k / row->bk);
    const double multiply_ns = 2 * values * row->bk / (FLOPS_PER_CLOCK * clock_ghz * row->efficiency);
    const double step_bytes =
        (double)LINE_BYTES * ((double)row->bm / row->cluster_n + (double)row->bn / row->cluster_m);
    const double l2_ns = step_bytes / (l2_bytes_per_clock * clock_ghz);
    const double store_ns = store_ns_per_value * values;
    const double work_ns =
        waves * (steps * fmax(step_ns, fmax(multiply_ns, l2_ns))) + (row->overlaps_stores ? 1 : waves) * store_ns;
    settle(out, tsr_launch_ns(row, device) + (cluster > 1 ? cluster_start_ns : 0), work_ns,
           fmax(input_ns(problem, device), output_ns(problem, device)), tiles * cluster * steps * step_bytes);
}

/* A kernel that multiplies with mma.sync or wmma: the SM that gets most CTAs decides. Four warps feed the four tensor
 * cores of an SM; eight hide what each of them waits for. Half the rate with four is a guess that measurements replace.
 */
void tsr_cost_tensor(const tsr_row *row, const tsr_problem *problem, const tsr_device *device, tsr_cost *out)
{
    const double per_sm = ceil(count_ctas(row, problem) / device->cuda.sm_count);
    const double warps = per_sm * row->threads_x * row->threads_y / 32;
    const double busy = warps < 8 ? warps / 8 : 1;
    const double flops = 2.0 * per_sm * device->cuda.sm_count * row->bm * row->bn * (double)problem->k;
    settle_gpu(row, problem, device, busy > 0 ? flops / busy : 0, out);
    /* The first tiles' arrival and D by threads, less what the launch's constant already has of them; measured. */
    const double per_value_ns = 0.245, in_launch_ns = 1230;
    out->ns += fmax(0, per_sm * row->bm * row->bn * per_value_ns - in_launch_ns);
}
