/* What a product takes with Hopper's tensor rows, `wgmma` and `wgmma_skinny`: the same parts for both, which are what
 * orders them.
 *
 *   - a launch: no faster than launches follow each other, nor than the first stage comes and the last tile leaves;
 *   - steps along K, the longest of four: what a warp group does in turn, a stage's way from memory divided by the
 *     stages of the ring, multiplying, and the SM's bytes from L2. L2 serves whole lines: rows that do not begin with
 *     one touch two of them for 128 bytes. Lines that all CTAs ask for at once come later;
 *   - waves of them, and beside these what memory takes for all operands.
 *
 * Where two of these are both long they do not overlap perfectly: (a^q + b^q)^(1/q). Constants: fitted to times of an
 * H200, perf/LOG.md; those of L2, memory and multiplying are held where they were measured apart. A launch is priced
 * for a host between fast and slow (2.8 and 4.2 us). How K is cut is decided elsewhere (cost.c, skinny.c), by estimates
 * of their own: results' bits depend on it, the order of rows does not. But whether a second launch adds its parts is
 * asked here. */
#include <math.h>

#include "plan/cost.h"
#include "plan/plan.h"

enum { LINE_BYTES = 128, LINE_ELEMS = 64, SLAB_BYTES = 8192, FLOPS_PER_CLOCK = 4096, ELEMENT_BYTES = 2 };

#define CTA_NS 2.4 /* until the next CTA of a grid is started */

/* How sharply the longer of two things beside each other decides, as q = 2^SHARPNESS. */
enum {
    MEMORY_SHARPNESS = 1, /* of memory beside steps; */
    PAGES_SHARPNESS = 2,  /* where pages of memory that CTAs share come evenly */
    STEP_SHARPNESS = 2, /* of a step's four limits, of groups that take turns, and of L2 for all SMs beside the steps */
    FLOOR_SHARPNESS = 4 /* of a launch's shortest time beside what it does */
};

/* (one^q + other^q)^(1/q) */
static double overlapped(int sharpness, double one, double other)
{
    const double longer = fmax(one, other);
    double power = longer > 0 ? fmax(fmin(one, other), 0) / longer : 0;
    for (int i = 0; i < sharpness; i++)
        power *= power;
    double root = 1 + power;
    for (int i = 0; i < sharpness; i++)
        root = sqrt(root);
    return longer * root;
}

static double longest_of(const double ns[4])
{
    return overlapped(STEP_SHARPNESS, overlapped(STEP_SHARPNESS, ns[0], ns[1]),
                      overlapped(STEP_SHARPNESS, ns[2], ns[3]));
}

static double clock_ghz(const tsr_device *device)
{
    return device->cuda.core_clock_khz * 1e-6;
}

/* The pins' rate in bytes per ns. By clocks, so that the emulated device chooses as the GPU does. */
static double memory_rate(const tsr_device *device)
{
    return 2 * device->cuda.memory_clock_khz * 1e3 * device->cuda.memory_bus_bits / 8 * 1e-9;
}

static int lies_along_k(const tsr_problem *p, char which)
{
    return (which == 'a') == (tsr_problem_operand(p, which)->trans == TSR_N);
}

/* An operand from memory. Pieces of rows along K are each in another page of memory. */
static double input_ns(const tsr_problem *p, const tsr_device *device, char which)
{
    const double along_k_share = 0.8, along_mn_share = 0.87;
    const double elems = (double)(which == 'a' ? p->m : p->n) * (double)p->k * (double)p->batch;
    return ELEMENT_BYTES * elems / ((lies_along_k(p, which) ? along_k_share : along_mn_share) * memory_rate(device));
}

/* 1 if the copy engine can write D: see tsr_tensor_output_fits. */
static int output_is_whole(const tsr_problem *p)
{
    const long long element = (long long)tsr_dtype_bytes(p->d.dtype);
    return p->n * element % 16 == 0 && p->d.ld * element % 16 == 0;
}

/* D to memory. Where the copy engine writes boxes of rows that begin within lines, neighbouring tiles share lines, half
 * of which CTAs side by side in a cluster (`beside`) write at the same time. */
static double output_ns(const tsr_problem *p, const tsr_device *device, int beside)
{
    const long long element = (long long)tsr_dtype_bytes(p->d.dtype);
    const int shares_lines = p->d.ld * element % LINE_BYTES != 0;
    const double whole_share = 0.75, shared_share = 0.45, by_threads_share = 1;
    const double share = !output_is_whole(p) ? by_threads_share : beside || !shares_lines ? whole_share : shared_share;
    return (double)element * (double)p->m * (double)p->n * (double)p->batch / (share * memory_rate(device));
}

/* How many further CTAs wait for each line of an operand whose rows lie along M or N and are shorter than a line: all
 * of `ctas` walk along the same part of K together, and ask for a line once for each of its rows. `sharers` CTAs ask
 * once. */
static double askers(const tsr_problem *p, char which, double ctas, double sharers)
{
    const double ld = fmax(1, (double)tsr_problem_operand(p, which)->ld);
    if (lies_along_k(p, which))
        return 0;
    return ctas / sharers * fmax(0, LINE_ELEMS / ld - 1) * fmin(1, (double)p->k / LINE_ELEMS);
}

/* A stage's way from memory where `asking` CTAs wait for the same lines. */
static double with_asking(double latency_ns, double asking)
{
    const double ask_ns = 5.8;
    return latency_ns + ask_ns * asking;
}

/* What boxes of `rows` of A and `columns` of B cost L2 in a step along K, in bytes: the lines that they touch. In
 * `wgmma` pieces of 128 bytes that are whole lines come faster than that (`whole_is_less`), as the suites' shapes show;
 * in the skinny rows they do not. */
static double step_bytes(const tsr_problem *p, double rows, double columns, double whole_share)
{
    const double lines_a = tsr_lines_touched(p, 'a'), lines_b = tsr_lines_touched(p, 'b');
    return LINE_BYTES *
           (rows * (lines_a <= 1 ? whole_share : lines_a) + columns * (lines_b <= 1 ? whole_share : lines_b));
}

/* As an H200's host launches. A device that launches slower, as the emulated one, adds the difference and orders rows
 * alike. */
static double gpu_launch_ns(const tsr_row *row)
{
    const tsr_device gpu = {.launch_ns = TSR_CUDA_LAUNCH_NS};
    return tsr_launch_ns(row, &gpu);
}

static double slower_launch_ns(const tsr_row *row, const tsr_device *device)
{
    return tsr_launch_ns(row, device) - gpu_launch_ns(row);
}

static void settle(tsr_cost *out, double before_ns, double floor_ns, double fill_ns, double work_ns, double memory_ns,
                   int sharpness, double after_ns)
{
    const double busy_ns = fill_ns + overlapped(sharpness, work_ns, memory_ns) + after_ns;
    out->ns = before_ns + overlapped(FLOOR_SHARPNESS, floor_ns, busy_ns);
    out->limiter = floor_ns > busy_ns ? "launch" : work_ns > memory_ns ? "compute" : "memory";
}

/* What the SM's copy engine takes of lines, and all SMs of L2, in bytes a clock of an SM. */
#define ENGINE_BYTES_PER_CLOCK    93.
#define L2_BYTES_PER_CLOCK        43.
#define SKINNY_L2_BYTES_PER_CLOCK 81.
#define SKINNY_LATENCY_NS         340. /* a stage's way from memory */
#define IDLE_ROW_CLOCKS           4.   /* of the copy engine, for each row of a box that the matrix does not have */

/* Clusters of a `wgmma` row over the device: each walks `waves` tiles of `steps` along K, after `dealt` steps of parts
 * of other tiles, of which each has up to `parts`. */
typedef struct walk {
    double tiles, steps, waves, ctas, dealt, parts;
} walk;

static walk walk_of(const tsr_row *row, const tsr_problem *p, const tsr_device *device, const tsr_work *work)
{
    const double cluster = tsr_row_cluster(row), fit = fmax(1, floor(device->cuda.sm_count / cluster));
    const double dealt = work->split - 1, clusters = dealt > 0 ? (double)work->grid.x / cluster : fit;
    walk w = {.tiles = tsr_cluster_tiles(row, p), .steps = ceil((double)p->k / row->bk), .parts = 1};
    w.waves = ceil((w.tiles - dealt) / clusters);
    w.ctas = fmin(dealt > 0 ? clusters : w.tiles, clusters) * cluster;
    if (dealt > 0) {
        w.dealt = dealt * w.steps / clusters;
        w.parts = ceil(w.steps / w.dealt) + (fmod(clusters, dealt) == 0 ? 0 : 1);
    }
    return w;
}

/* Boxes along N are 64 wide. */
static double stage_bytes_of(const tsr_row *row)
{
    return LINE_BYTES * (row->bm + ceil(row->bn / 64.) * 64);
}

/* Buffers of each group for what leaves a tile. */
static double boxes_of(const tsr_row *row)
{
    const double stages = floor((row->smem_bytes - 2 * SLAB_BYTES) / stage_bytes_of(row));
    return floor((row->smem_bytes - stages * stage_bytes_of(row)) / (2 * SLAB_BYTES));
}

/* Rows of the last tile's boxes that an operand does not have: none where boxes lie along M or N. */
static double idle_rows(const tsr_row *row, const tsr_problem *p, char which)
{
    const double tile = which == 'a' ? row->bm : row->bn, rows = (double)(which == 'a' ? p->m : p->n);
    const double share = which == 'a' ? row->cluster_n : row->cluster_m;
    return lies_along_k(p, which) ? (ceil(rows / tile) * tile - rows) / share : 0;
}

/* A step along K of a CTA; a stage takes stage_ns from memory, and has so many rows that the matrix does not have. */
static double wgmma_step_ns(const tsr_row *row, const tsr_problem *p, const tsr_device *device, double stage_ns,
                            double idle)
{
    const double group_ns = 170, line_ns = 3, engine_share = 0.5, ghz = clock_ghz(device);
    /* A row's efficiency is that of large problems, which wait for power and L2; alone, a step multiplies faster. */
    const double narrow_share = 1.3, wide_share = 1.2;
    const double rate_share = row->bm > 64 ? wide_share : narrow_share;
    const double stage_bytes = stage_bytes_of(row);
    const double ring_bytes = row->smem_bytes - 2 * SLAB_BYTES; /* both groups have a buffer for what leaves at least */
    const double rows = fmin(row->bm, (double)p->m), columns = fmin(row->bn, (double)p->n);
    const double lines = step_bytes(p, rows / row->cluster_n, columns / row->cluster_m, 1) / LINE_BYTES;
    const double step[4] = {group_ns, (stage_ns + line_ns * lines) / floor(ring_bytes / stage_bytes),
                            2. * row->bm * row->bn * row->bk / (FLOPS_PER_CLOCK * ghz * row->efficiency * rate_share),
                            step_bytes(p, rows / row->cluster_n, columns / row->cluster_m, engine_share) /
                                    (ENGINE_BYTES_PER_CLOCK * ghz) +
                                IDLE_ROW_CLOCKS * idle / ghz};
    const double skew = row->cluster_m > 1 ? 1.05 : 1; /* CTAs along M wait for each other's stages */
    return skew * longest_of(step);
}

static int stays_in_l2(const tsr_problem *p)
{
    enum { MOST_BYTES = 48000000 };
    const double d_bytes = (double)tsr_dtype_bytes(p->d.dtype) * (double)p->m * (double)p->n;
    return (double)p->batch * (ELEMENT_BYTES * ((double)p->m + (double)p->n) * (double)p->k + d_bytes) < MOST_BYTES;
}

/* What the groups of a CTA take for a part of K of a tile, one after the other. They take turns: one stores what the
 * other multiplies after, so that it takes its products' time, or half of its life; or, where threads store D, what the
 * SM's way to L2 takes, for each row of a tile ends within lines twice. CTAs of a cluster meet for each tile. */
static double unit_ns(const tsr_row *row, const tsr_problem *p, double products_ns, double stored_ns)
{
    const double tile_ns = 700 + 0.05 * row->bm * row->bn, meet_m_ns = 910, meet_n_ns = 340, path_value_ns = 0.092;
    const double meet_ns = row->cluster_m > 1 ? meet_m_ns : row->cluster_n > 1 ? meet_n_ns : 0;
    const double path_ns =
        output_is_whole(p) ? 0
                           : path_value_ns * fmin(row->bm, (double)p->m) * (fmin(row->bn, (double)p->n) + LINE_ELEMS);
    const double life_ns = products_ns + stored_ns + tile_ns + meet_ns;
    return overlapped(STEP_SHARPNESS, products_ns, overlapped(STEP_SHARPNESS, life_ns / 2, path_ns));
}

/* A step along K of dealt tiles. CTAs that walk whole tiles ask for the same lines at the same time, and L2 answers
 * many at once; those that begin anywhere along K do not. */
static double dealt_step_ns(const tsr_row *row, const tsr_problem *p, const tsr_device *device, double step_ns)
{
    const double alone_bytes_per_clock = 31;
    const double bytes =
        step_bytes(p, fmin(row->bm, (double)p->m) / row->cluster_n, fmin(row->bn, (double)p->n) / row->cluster_m, 1);
    return overlapped(STEP_SHARPNESS, step_ns, bytes / (alone_bytes_per_clock * clock_ghz(device)));
}

/* Parts of a tile meet: somebody leaves sums, is told of, and is read, as many loads at a time as there are registers
 * left beside a thread's own sums. Before whole tiles part of that is hidden. */
static double parts_ns(const tsr_row *row, const tsr_device *device, const walk *w)
{
    const double join_ns = 1760, latency_ns = 410, hidden_share = 1, registers = 240 - 20, threads = 128;
    const double values = (double)row->bm * row->bn / threads, batches = values / (registers - values);
    const double sums_ns = 4. * row->bm * row->bn / (L2_BYTES_PER_CLOCK * clock_ghz(device)) + latency_ns * batches;
    const double all_ns = join_ns + (w->parts - 1) * sums_ns;
    return w->dealt <= 0 ? 0 : w->waves > 0 ? hidden_share * all_ns : all_ns;
}

void tsr_cost_wgmma_dealt(const tsr_row *row, const tsr_problem *p, const tsr_device *device, const tsr_work *work,
                          tsr_cost *out)
{
    const double latency_ns = 730, along_n_ns = 530; /* clusters along N start later */
    /* Small tiles ask for the boxes of their first steps before the grid in front has ended. */
    const double asked_step_ns = 150, most_asked_ns = 600;
    const double early_ns =
        row->bm * row->bn <= 64 * 64 ? fmin(most_asked_ns, asked_step_ns * ceil((double)p->k / row->bk)) : 0;
    const double floor_ns = 1530 - 0.7 * early_ns, fill_ns = 1270 - early_ns;
    /* Of a tile's values: leaving it by boxes; with one buffer for those; by threads, as far as D reaches. */
    /* Whole lines that stay in L2 come faster than parts of them; the others for all that. */
    const double kept_share = 0.5, other_share = 0.75;
    const double shared_lines_share = stays_in_l2(p) ? kept_share : other_share;
    const double value_ns = 0.11, lone_ns = 0.025, thread_ns = 0.15;
    const walk w = walk_of(row, p, device, work);
    const double m = (double)p->m, n = (double)p->n, values = (double)row->bm * row->bn;
    const double asking =
        askers(p, 'a', w.ctas / w.parts, row->cluster_n) + askers(p, 'b', w.ctas / w.parts, row->cluster_m);
    const double all_bytes = (double)p->batch * ceil((double)p->k / row->bk) *
                             step_bytes(p, m * ceil(n / row->bn) / row->cluster_n,
                                        n * ceil(m / row->bm) / row->cluster_m, shared_lines_share);
    const double l2_ns = all_bytes / (device->cuda.sm_count * L2_BYTES_PER_CLOCK * clock_ghz(device));
    const double stored_ns = (output_is_whole(p) ? 0 : thread_ns * fmin(row->bm, m) * fmin(row->bn, n)) +
                             (boxes_of(row) > 1 ? 0 : lone_ns * values);
    const double stage_ns = with_asking(latency_ns, asking), idle_a = idle_rows(row, p, 'a'),
                 idle_b = idle_rows(row, p, 'b');
    const double step_ns =
        wgmma_step_ns(row, p, device, stage_ns, (m <= row->bm ? idle_a : 0) + (n <= row->bn ? idle_b : 0));
    const double edge_ns = wgmma_step_ns(row, p, device, stage_ns, idle_a + idle_b) - step_ns;
    const double waves_ns = w.waves * unit_ns(row, p, w.steps * step_ns, stored_ns) + w.steps * edge_ns +
                            w.dealt * dealt_step_ns(row, p, device, step_ns);
    const double memory_ns =
        input_ns(p, device, 'a') + input_ns(p, device, 'b') + output_ns(p, device, row->cluster_n > 1);
    settle(out, row->cluster_n > 1 ? along_n_ns : 0, gpu_launch_ns(row) + floor_ns,
           CTA_NS * w.ctas + with_asking(fill_ns, asking), overlapped(STEP_SHARPNESS, waves_ns, l2_ns), memory_ns,
           MEMORY_SHARPNESS, stored_ns + value_ns * values + parts_ns(row, device, &w));
    out->bytes = all_bytes;
    out->early_ns = early_ns;
}

void tsr_cost_wgmma(const tsr_row *row, const tsr_problem *p, const tsr_device *device, tsr_cost *out)
{
    const tsr_work work = tsr_row_work(row, p, device);
    tsr_cost_wgmma_dealt(row, p, device, &work, out);
    out->ns += slower_launch_ns(row, device);
}

/* The shorter operand of a skinny row, and how the row's CTAs lie over the device. */
typedef struct spread {
    char shorter, longer;             /* operands */
    double ctas, parts, left, waves;  /* parts of K that meet in a cluster; that a second launch adds */
    double resident;                  /* CTAs on the device at once */
    double together;                  /* CTAs of an SM at once */
    double steps, step_bytes, stages; /* along K of a CTA; of L2's lines in a step; of the ring */
    double asking;                    /* CTAs that wait for lines that others wait for */
} spread;

static spread spread_of(const tsr_row *row, const tsr_problem *p, const tsr_device *device, const tsr_work *work)
{
    const double sms = device->cuda.sm_count, per_sm = tsr_ctas_per_sm(row, &device->cuda);
    /* Clusters of 4 and more find no place on some SMs, and lie close together where two CTAs fit on one: seen from 60
     * CTAs on. */
    const int is_large = work->cluster >= 4;
    const double usable = is_large ? 120. / 132 : 1, spread_over = is_large ? 60. / 132 : 1;
    spread s = {.shorter = p->m <= p->n ? 'a' : 'b', .longer = p->m <= p->n ? 'b' : 'a', .ctas = (double)work->grid.x};
    const int parts = work->cluster / row->cluster_n;
    s.parts = parts;
    s.left = work->leaves_sums ? work->split : 1;
    s.resident = floor(sms * per_sm * usable);
    s.waves = ceil(s.ctas / s.resident);
    s.together = fmin(per_sm, ceil(s.ctas / (sms * spread_over)));
    s.steps = ceil(ceil((double)p->k / row->bk) / work->split);
    const double together = fmin(s.ctas, s.resident) / work->split;
    s.asking = askers(p, s.shorter, together, row->cluster_n) + askers(p, s.longer, together, 1);
    /* Boxes along M or N are 64 wide at least, which the ring has to hold. */
    const double inbox_bytes = row->parts > 1 ? 4. * row->bm * row->bn : 0;
    const double short_box = lies_along_k(p, s.shorter) ? row->bm : ceil(row->bm / 64.) * 64;
    const double long_rows = fmin(row->bn, (double)(p->m <= p->n ? p->n : p->m));
    const double short_rows = fmin(short_box, (double)(p->m <= p->n ? p->m : p->n)) / row->cluster_n;
    const double slices = (double)row->bk / LINE_ELEMS; /* boxes of an operand in a stage */
    s.stages = floor((row->smem_bytes - inbox_bytes) / (slices * LINE_BYTES * (row->bn + short_box)));
    s.step_bytes =
        slices * (p->m <= p->n ? step_bytes(p, short_rows, long_rows, 1) : step_bytes(p, long_rows, short_rows, 1));
    return s;
}

static double skinny_step_ns(const tsr_row *row, const tsr_device *device, const spread *s)
{
    const double group_ns = 92, multiply_share = 0.8, ghz = clock_ghz(device);
    const double step[4] = {group_ns, with_asking(SKINNY_LATENCY_NS, s->asking) / s->stages,
                            s->together * 2 * row->bm * row->bn * row->bk / (FLOPS_PER_CLOCK * ghz * multiply_share),
                            s->together * s->step_bytes / (SKINNY_L2_BYTES_PER_CLOCK * ghz)};
    return longest_of(step);
}

/* What follows the products: the tile's sums go to the workspace as they lie in registers. Or to shared memory,
 * clusters meet, and each rank stores its share of D, four neighbours at a time by each thread, those that D does not
 * have among them; one by one where D takes no four at once. */
static double skinny_end_ns(const tsr_row *row, const tsr_problem *p, const spread *s)
{
    enum { CONSUMERS_OF_64 = 128 };
    const double column_ns = 13, quad_ns = 67, value_ns = 0.021, meet_ns = 1050;
    const double leave_bytes_per_ns = 100, values = (double)row->bm * row->bn;
    if (s->left > 1)
        return 4 * values / leave_bytes_per_ns;
    const double lines = p->m <= p->n ? fmin((double)p->m, row->bm) : row->bm; /* of 64 values, or columns of them */
    const double quads = lines * 64 / 4 / CONSUMERS_OF_64;
    return column_ns * row->bm + quad_ns * quads / s->parts + (p->d.ld % 4 == 0 ? 0 : value_ns * values / s->parts) +
           (s->parts > 1 ? meet_ns : 0);
}

/* The second launch, which reads what all CTAs have left and makes D. */
static double skinny_sum_ns(const tsr_row *row, const tsr_device *device, const spread *s)
{
    const double sum_launch_ns = 3200, sums_share = 1.1; /* of the memory's rate: they lie in L2 */
    return sum_launch_ns + 2 * 4. * row->bm * row->bn * s->ctas / (sums_share * memory_rate(device));
}

/* CTAs of a later wave begin when others have ended. */
void tsr_cost_skinny_dealt(const tsr_row *row, const tsr_problem *p, const tsr_device *device, const tsr_work *work,
                           tsr_cost *out)
{
    const double floor_ns = 1180, start_ns = 790, begin_ns = 2040, again = 0.22;
    const double least_ns = gpu_launch_ns(row) + floor_ns;
    out->bytes = 2.0 * (double)p->batch * ((double)p->m * (double)p->k + (double)p->k * (double)p->n);
    out->ns = least_ns;
    out->limiter = "launch";
    if (p->m == 0 || p->n == 0 || p->batch == 0)
        return;
    const spread s = spread_of(row, p, device, work);
    const double end_ns = skinny_end_ns(row, p, &s);
    const double l2_ns =
        s.ctas * s.steps * s.step_bytes / (device->cuda.sm_count * L2_BYTES_PER_CLOCK * clock_ghz(device));
    const double waves_ns = s.waves * s.steps * skinny_step_ns(row, device, &s) + (s.waves - 1) * (begin_ns + end_ns);
    /* Rows beyond A's fill the ring as if they came from memory. */
    const double idle = p->m <= p->n ? (row->bm + row->bn) / (fmin((double)p->m, row->bm) + row->bn) - 1 : 0;
    /* Each further tile of one side reads the operand of the other again, nearly all of it from L2. */
    const double shorter = fmin((double)p->m, (double)p->n), longer = fmax((double)p->m, (double)p->n);
    const double short_tiles = ceil(shorter / row->bm), long_tiles = ceil(longer / (row->bn * row->cluster_n));
    const double memory_ns = input_ns(p, device, s.longer) * (1 + idle + again * (short_tiles - 1)) +
                             input_ns(p, device, s.shorter) * (1 + again * fmin(1, long_tiles - 1)) +
                             output_ns(p, device, 0);
    /* CTAs with deep stages leave no room on their SMs: the next launch finds some only beside few of them. */
    const double alone_ns = row->bk > LINE_ELEMS && 2 * s.ctas > device->cuda.sm_count ? 1000 : 0;
    /* Few clusters that cut K come to lie in some of the GPCs, and share what these get. */
    const double few_share = 0.8, reach = s.parts >= 4 && s.ctas < 0.76 * device->cuda.sm_count ? few_share : 1;
    const int sharpness = lies_along_k(p, s.longer) ? MEMORY_SHARPNESS : PAGES_SHARPNESS;
    const double sum_ns = s.left > 1 ? skinny_sum_ns(row, device, &s) : 0;
    const double launches = s.left > 1 ? 2 : 1;
    settle(out, alone_ns, launches * least_ns,
           start_ns + CTA_NS * fmin(s.ctas, s.resident) + with_asking(SKINNY_LATENCY_NS, s.asking),
           overlapped(STEP_SHARPNESS, waves_ns, l2_ns), memory_ns / reach, sharpness, end_ns + sum_ns);
}

void tsr_cost_skinny(const tsr_row *row, const tsr_problem *p, const tsr_device *device, tsr_cost *out)
{
    const tsr_work work = tsr_row_work(row, p, device);
    tsr_cost_skinny_dealt(row, p, device, &work, out);
    out->ns += slower_launch_ns(row, device);
}
