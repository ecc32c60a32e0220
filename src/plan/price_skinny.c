/* What a product takes with a config of `wgmma_skinny`, by the parts that price_wgmma.c names, however K is
 * partitioned: the same estimate orders configs and schedules (select.c). Where it differs:
 *
 *   - a step's limits count what tensor cores and the copy engine move in and out of shared memory;
 *   - memory gives nearly the pins' rate, along K as along N;
 *   - launches that find no room beside each other end late (late_ns, filled_ns); those that find some lie unevenly
 *     (paired_ns).
 *
 * Constants: fitted to times of an H200 in both layouts, perf/LOG. */
#include <math.h>
#include <stdlib.h>

#include "plan/price_common.h"
#include "plan/price_hopper.h"

/* Warp groups of a tile, 64 rows of the longer side each. */
static int groups_of(const tsr_row *row)
{
    return row->bn / LINE_ELEMS;
}

/* A stage's boxes: those along M or N are 64 wide at least, which the ring has to hold. */
static void find_step(const tsr_row *row, const tsr_problem *p, tsr_skinny *s)
{
    const tsr_line_shares engine_shares = {0.965, 0.918, 1.36}, l2_shares = {0.533, 0.754, 0.989};
    const int is_along_k = lies_along_k(p, s->shorter);
    const double ring_box = is_along_k ? row->bm : ceil(row->bm / 64.) * 64, box = is_along_k ? s->rows : ring_box;
    const double longer = (double)(s->turned ? p->n : p->m), long_rows = fmin(row->bn, longer);
    /* The last tiles end late, which the next launch hides if they are few. */
    const double most_late = 1.6, late = row->cluster_n == 1 ? fmin(1, most_late / s->long_tiles) : 0;
    const double idle = row->bn - long_rows, idle_at_end = ceil(longer / row->bn) * row->bn - longer;
    const double shorter = (double)(s->turned ? p->m : p->n), short_rows = fmin(box, shorter) / row->cluster_n;
    const double long_pieces = pieces_of(p, s->longer, row->bn, longer);
    const double short_pieces = pieces_of(p, s->shorter, box, shorter) / row->cluster_n;
    const double slices = (double)row->bk / LINE_ELEMS, groups = groups_of(row); /* each reads the shorter operand */
    s->stages = floor(row->ring_bytes / (slices * LINE_BYTES * (row->bn + ring_box)));
    const double rows_a = s->turned ? short_rows : long_rows, rows_b = s->turned ? long_rows : short_rows;
    s->step_bytes = slices * step_bytes(p, s->turned ? short_pieces : long_pieces,
                                        s->turned ? long_pieces : short_pieces, engine_shares);
    s->l2_bytes = slices * step_bytes(p, rows_a, rows_b, l2_shares);
    s->idle_rows = lies_along_k(p, s->longer) ? idle + late * fmax(0, idle_at_end - idle) : 0;
    s->shared_bytes = slices * LINE_BYTES * (2. * row->bn + box + groups * row->bm);
}

/* `uncut`: what does not depend on how K is cut. */
static tsr_skinny spread_of(const tsr_row *row, const tsr_problem *p, const tsr_device *device, const tsr_skinny *uncut,
                            const tsr_launch_config *launch)
{
    /* Clusters of one CTA an SM that an H200 holds, as its driver tells. */
    enum { SMS = 132, MOST_CLUSTER = 8 };
    static const double clusters[MOST_CLUSTER + 1] = {0, SMS, 66, 39, 30, 22, 17, 15, 15};
    const double sms = device->cuda.sm_count, per_sm = uncut->per_sm;
    /* Those of 4 and more lie close together where two CTAs fit on an SM: seen from 60 CTAs on. */
    const int size = launch->cluster;
    const double usable = clusters[size] * size / SMS, spread_over = size >= 4 ? 60. / SMS : 1;
    tsr_skinny s = *uncut;
    const int parts = launch->schedule.cluster_k, split = launch->schedule.split_k;
    s.ctas = (double)launch->grid.x;
    s.sms = sms;
    s.parts = parts;
    s.left = launch->reduces ? split : 1;
    s.resident = floor(sms * per_sm * usable);
    s.waves = ceil(s.ctas / s.resident);
    s.together = fmin(per_sm, ceil(s.ctas / (sms * spread_over)));
    s.steps = ceil(ceil((double)p->k / row->bk) / split);
    const double asking = fmin(s.ctas, s.resident) / split;
    s.asking = asking_of(&s.asks_shorter, asking) + asking_of(&s.asks_longer, asking);
    return s;
}

/* A stage's way from memory while all SMs read. */
static double skinny_latency_ns(const tsr_skinny *s)
{
    const double latency_ns = 1040;
    return with_asking(latency_ns, s->asking);
}

/* CTAs that meet wait for the last one: wide tiles less, of two groups if their columns lie along the shorter side. */
static double meeting_skew(const tsr_row *row, const tsr_skinny *s)
{
    const int is_wide = groups_of(row) == 2 && row->bm >= 2 * LINE_ELEMS && !s->across;
    return groups_of(row) > 2 ? 1.09 : is_wide ? 1.16 : 1.24;
}

/* Two SMs share what rows that are not there cost: seen where more than half of the SMs have a CTA. */
static double idle_row_clocks(const tsr_skinny *s)
{
    const double both_more = 1.5, half = s->sms / 2;
    return IDLE_ROW_CLOCKS * (1 + both_more * fmin(1, fmax(0, s->ctas - half) / half));
}

static double skinny_step_ns(const tsr_row *row, const tsr_device *device, const tsr_skinny *s)
{
    const double group_ns = 20, engine_bytes = 91.2, shared_bytes = 151, ghz = clock_ghz(device);
    /* Groups wait for the same stages, and the more they are, the more power they take: beside other work, the clock
     * that they get is lower. All that multiplies for long waits for power. */
    const double alone_share = 0.93, two_share = 0.88, three_share = 0.846, long_share = 0.65, power_ns = 65700;
    const double peak_ns = 2. * row->bm * row->bn * row->bk / (FLOPS_PER_CLOCK * ghz);
    const double all_ns = s->waves * s->steps * s->together * peak_ns, waits = all_ns / (all_ns + power_ns);
    const int has_two = groups_of(row) > 1; /* or more */
    const double short_share = groups_of(row) > 2 ? three_share : has_two ? two_share : alone_share;
    const double multiply_ns = peak_ns / (short_share + (long_share - short_share) * waits);
    const double step[4] = {group_ns, skinny_latency_ns(s) / s->stages,
                            s->together * fmax(multiply_ns, s->shared_bytes / (shared_bytes * ghz)),
                            s->together * (s->step_bytes / engine_bytes + idle_row_clocks(s) * s->idle_rows) / ghz};
    /* Sharers wait for each other, the more the longer they walk; four of one group read so much less that it pays. Two
     * SMs have a way to L2 together: few CTAs have it for themselves, which a short ring does not use. */
    const double one_skew = row->cluster_n < 4 ? 1.34 : 1.14, two_skew = 1.06, part_skew = 1.18; /* of groups */
    const double narrow_share = 0.868, wide_share = 0.908;
    /* Many tiles side by side ask for the same rows: one group waits for them, two multiply meanwhile. */
    const double across_one_skew = 1.06;
    const double long_skew = has_two ? two_skew : one_skew;
    const double deep_skew = s->parts > 1 ? 1.09 : 1.34; /* two boxes wide, few stages */
    const double skew = row->cluster_n == 1 ? 1 : s->left > 1 ? part_skew : long_skew;
    const double apart_share = has_two ? wide_share : s->per_sm > 1 ? 1 : narrow_share;
    const double apart = s->ctas > s->sms / 2 ? 1 : apart_share;
    return skew * (s->across && !has_two ? across_one_skew : 1) * (s->parts > 1 ? meeting_skew(row, s) : 1) *
           (row->bk > LINE_ELEMS ? deep_skew : 1) * apart * longest_of(step);
}

/* Waves. A last one with few CTAs is faster, but for tiles of one group, which wait for memory. */
static double wave_times(const tsr_row *row, const tsr_skinny *s)
{
    const double few_share = 0.86, last = s->ctas - (s->waves - 1) * s->resident;
    return s->waves > 1 && groups_of(row) > 1 && last <= s->sms / 2 ? s->waves - 1 + few_share : s->waves;
}

/* 1 if whole tiles may go to D 16 bytes at a time (kernels/tile/wgmma_whole.h). */
static int leaves_by_chunks(const tsr_problem *p)
{
    enum { CHUNK_ELEMS = 8 };
    return tsr_dtype_bytes(p->d.dtype) == ELEMENT_BYTES && p->d.ld % CHUNK_ELEMS == 0;
}

/* Lines of a tile that threads take at once, four neighbours of a line each (tile/wgmma_share.h). */
static double lines_at_once(const tsr_row *row, const tsr_skinny *s)
{
    enum { TURNED_LINES = 8, MOST_LINES = 32 };
    const double threads = 2. * row->bn, quads = row->bm / 4.; /* of a line */
    double lines = MOST_LINES;
    while (lines > 2 && lines * quads > threads)
        lines /= 2;
    return s->turned ? TURNED_LINES : lines;
}

/* What follows the products: the tile's sums go to the workspace as they lie in registers. Or to shared memory, from
 * where threads store lines of D, 8 neighbours at a time where they can (tile/wgmma_whole.h). Or clusters meet, and
 * each rank stores its share of the lines, four neighbours at a time by each thread, or one by one where D takes no
 * four at once. What threads of one group do takes longer beside other groups. */
static double skinny_end_ns(const tsr_row *row, const tsr_problem *p, const tsr_skinny *s)
{
    enum { CHUNK = 8 };
    const double groups = groups_of(row), beside = 1 + 0.208 * (groups - 1), leave_bytes_per_ns = 131;
    const double values = (double)row->bm * row->bn;
    const double lines = s->turned ? fmin((double)p->m, s->rows) : fmin(row->bn, (double)p->m);
    if (s->left > 1)
        return 4 * values / leave_bytes_per_ns;
    if (s->parts <= 1 && row->bm >= 64 && leaves_by_chunks(p)) {
        const double begin_ns = 319, column_ns = 4.05, chunk_ns = 107, width = s->turned ? row->bn : row->bm;
        return begin_ns + beside * (column_ns * row->bm + chunk_ns * ceil(lines * width / CHUNK / (2. * row->bn)));
    }
    const double begin_ns = 244, turned_ns = 4.68, plain_ns = 4.94, line_ns = 95.9, cut_line_ns = 62; /* more */
    const double meet_ns = groups > 2 ? 1100 : 470, leave_ns = groups > 2 ? 0.022 : 0, rank_ns = 63;
    const double sent_byte_ns = 0.013, times = ceil(lines / s->parts / lines_at_once(row, s));
    const double stored_ns = line_ns + (p->d.ld % 4 == 0 ? 0 : cut_line_ns);
    return begin_ns + beside * ((s->turned ? turned_ns : plain_ns) * row->bm + stored_ns * times) +
           (s->parts > 1 ? meet_ns + leave_ns * values + rank_ns * (s->parts - 2) +
                               sent_byte_ns * 4 * values * (s->parts - 1) / s->parts
                         : 0);
}

/* The second launch, which reads what all CTAs have left and makes D. */
static double skinny_sum_ns(const tsr_row *row, const tsr_device *device, const tsr_skinny *s)
{
    const double sum_launch_ns = 1980, sums_share = 0.773; /* of the memory's rate: they lie in L2 */
    return sum_launch_ns + 2 * 4. * s->rows * row->bn * s->ctas / (sums_share * memory_rate(device));
}

/* Each further tile of one side reads the operand of the other again, nearly all of it from L2. */
static void find_operands(const tsr_problem *p, const tsr_device *device, tsr_skinny *s)
{
    /* Of the memory's rate: D's rows begin with lines, or within; where nothing else is on the way. */
    const double whole_share = 0.91, cut_share = 0.6, output_share = 0.707;
    const long long element = (long long)tsr_dtype_bytes(p->d.dtype);
    const double d_share = p->d.ld * element % LINE_BYTES == 0 ? whole_share : cut_share;
    const double d_bytes = (double)element * (double)p->m * (double)p->n;
    const double input_share = 0.938, parts_of_lines = 0.301; /* of the longer one alone */
    const double longer_ns = operand_ns(p, device, s->longer, input_share, parts_of_lines);
    const double shorter_ns = operand_ns(p, device, s->shorter, input_share, 0);
    const double d_ns = d_bytes * (double)p->batch / memory_rate(device);
    s->operands_ns = longer_ns + shorter_ns + d_ns / d_share;
    s->output_ns = d_ns / output_share;
    s->again_ns = longer_ns * (s->short_tiles - 1) + shorter_ns * fmin(1, s->long_tiles - 1);
}

static double skinny_memory_ns(const tsr_skinny *s)
{
    /* Parts for a second launch are many, and drift apart. */
    const double near_again = 0.057, apart_again = 0.26;
    const double idle = 0.0953 * (1 - fmin(s->ctas, s->sms) / s->sms); /* few CTAs ask for less */
    return (1 + idle) * (s->operands_ns + (s->left > 1 ? apart_again : near_again) * s->again_ns);
}

/* Where a launch and the next one do not find room beside each other, some CTAs begin when those in front have ended,
 * and are not done when the others are. Worst if they are few; none are late if all fit, and equally late if none do.
 */
static double late_ns(const tsr_skinny *s, double memory_ns)
{
    const double once_ns = 459, memory_share = 0.223, shared = 0.37; /* where tiles read the same operand */
    const double late = fmin(1, (2 * s->ctas - s->resident) / s->ctas);
    return late <= 0 ? 0 : (once_ns + memory_share * memory_ns) * (1 - late) * (s->short_tiles > 1 ? shared : 1);
}

/* Where clusters take all places there are, those of the next launch have to wait for whole ones. */
static double filled_ns(const tsr_skinny *s)
{
    const double wait_ns = 1430, left = s->resident - s->ctas;
    return s->parts > 1 && left >= 0 && left < s->parts ? wait_ns : 0;
}

/* Where two CTAs fit on an SM, those of a launch that comes while the one in front is there take what room there is, so
 * that some SMs have two of them and others one: worst with as many as there are SMs, not with half or twice as many.
 */
static double paired_ns(const tsr_skinny *s, double memory_ns)
{
    const double memory_share = 0.19, sms = s->sms;
    const double paired = s->per_sm > 1 ? 1 - fabs(s->ctas - sms) / (s->ctas < sms ? sms / 2 : sms) : 0;
    return fmax(0, paired) * memory_share * memory_ns;
}

void tsr_skinny_begin(tsr_skinny *s, const tsr_row *row, const tsr_problem *p, const tsr_device *device, int swap_ab)
{
    const tsr_gemm_args args = {.m = p->m,
                                .n = p->n,
                                .trans_a = p->a.trans == TSR_T,
                                .trans_b = p->b.trans == TSR_T,
                                .schedule = {.swap_ab = swap_ab}};
    const double shorter = (double)(swap_ab ? p->m : p->n), longer = (double)(swap_ab ? p->n : p->m);
    *s = (tsr_skinny){.shorter = swap_ab ? 'a' : 'b',
                      .longer = swap_ab ? 'b' : 'a',
                      .turned = swap_ab,
                      .across = swap_ab != (p->m <= p->n)};
    s->rows = tsr_row_short_tile(row, &args);
    s->per_sm = tsr_ctas_per_sm(row, &device->cuda);
    s->short_tiles = ceil(shorter / row->bm);
    s->long_tiles = ceil(longer / (row->bn * row->cluster_n));
    s->asks = (asks_for_lines(p, s->shorter) / fmax(1, s->short_tiles) +
               asks_for_lines(p, s->longer) / fmax(1, s->long_tiles)) /
              (row->cluster_n * fmax(1, (double)p->batch));
    s->asks_shorter = asks_of(p, s->shorter, row->cluster_n);
    s->asks_longer = asks_of(p, s->longer, 1);
    find_operands(p, device, s);
    find_step(row, p, s);
}

/* CTAs of a later wave begin when others have ended. */
void tsr_price_skinny(tsr_skinny *uncut, const tsr_row *row, const tsr_problem *p, const tsr_device *device,
                      const tsr_launch_config *launch, double best_ns, tsr_cost *out)
{
    const double floor_ns = 1200, start_ns = 736, l2_bytes = 51.6;
    const double begin_ns = uncut->per_sm > 1 ? 1200 : 2400; /* beside another CTA, or when the SM is empty */
    const double second_ns = 1490;                           /* a launch that finds its operands just written */
    out->bytes = 2.0 * (double)p->batch * ((double)p->m * (double)p->k + (double)p->k * (double)p->n);
    out->gpu_ns = floor_ns;
    out->launches = 1;
    out->ns = tsr_launched_ns(1, floor_ns);
    out->limiter = "launch";
    if (p->m == 0 || p->n == 0 || p->batch == 0)
        return;
    if (uncut->turned != launch->schedule.swap_ab)
        tsr_skinny_begin(uncut, row, p, device, launch->schedule.swap_ab);
    const tsr_skinny s = spread_of(row, p, device, uncut, launch);
    const double begun = fmin(s.ctas, s.resident), end_ns = skinny_end_ns(row, p, &s);
    const double l2_ns = s.ctas * s.steps * s.l2_bytes / (s.sms * l2_bytes * clock_ghz(device));
    const double waves_ns =
        wave_times(row, &s) * s.steps * skinny_step_ns(row, device, &s) + (s.waves - 1) * (begin_ns + end_ns);
    const double memory_ns = skinny_memory_ns(&s);
    const tsr_parts parts = {
        .launches = s.left > 1 ? 2 : 1,
        .before_ns = late_ns(&s, memory_ns) + paired_ns(&s, memory_ns) + filled_ns(&s),
        .floor_ns = s.left > 1 ? floor_ns + second_ns : floor_ns,
        .fill_ns = start_ns + CTA_NS * begun + first_asked_ns(s.asks * begun * s.waves, s.asking),
        .work_ns = overlapped(STEP_SHARPNESS, waves_ns, l2_ns) + end_ns,
        .memory_ns = memory_ns,
        .after_ns = s.output_ns / s.waves + (s.left > 1 ? skinny_sum_ns(row, device, &s) : 0),
        .sharpness = lies_along_k(p, s.longer) ? 3.2 : 3.77,
    };
    settle(&parts, best_ns, out);
}
