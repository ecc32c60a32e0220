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
static int groups_of(const tsr_config *config)
{
    return config->bn / SLAB_LINES;
}

/* A stage's boxes: those along M or N are 64 wide at least, which the ring has to hold. */
static void find_step(const tsr_config *config, const tsr_problem *p, tsr_skinny *s)
{
    const tsr_profile *const f = s->f;
    const tsr_line_shares engine_shares = {f->skinny_engine_whole, f->skinny_engine_sectors, f->skinny_engine_within};
    const tsr_line_shares l2_shares = {f->skinny_l2_whole, f->skinny_l2_sectors, f->skinny_l2_within};
    const int is_along_k = lies_along_k(p, s->shorter);
    const double ring_box = is_along_k ? config->bm : ceil(config->bm / 64.) * 64,
                 box = is_along_k ? s->rows : ring_box;
    const double longer = (double)(s->swap_ab ? p->n : p->m), long_rows = fmin(config->bn, longer);
    /* The last tiles end late, which the next launch hides if they are few. */
    const double most_late = f->skinny_most_late,
                 late = config->cluster_n == 1 ? fmin(1, most_late / fmax(1, s->long_tiles)) : 0;
    const double idle = config->bn - long_rows, idle_at_end = ceil(longer / config->bn) * config->bn - longer;
    const double shorter = (double)(s->swap_ab ? p->m : p->n), short_rows = fmin(box, shorter) / config->cluster_n;
    const double long_pieces = pieces_of(f, p, s->longer, config->bn, longer);
    const double short_pieces = pieces_of(f, p, s->shorter, box, shorter) / config->cluster_n;
    const double slices = (double)config->bk / line_elems(p),
                 groups = groups_of(config); /* each reads the shorter operand */
    s->stages = floor(config->ring_bytes / (slices * LINE_BYTES * (config->bn + ring_box)));
    const double rows_a = s->swap_ab ? short_rows : long_rows, rows_b = s->swap_ab ? long_rows : short_rows;
    s->step_bytes = slices * step_bytes(p, s->swap_ab ? short_pieces : long_pieces,
                                        s->swap_ab ? long_pieces : short_pieces, engine_shares);
    s->l2_bytes = slices * step_bytes(p, rows_a, rows_b, l2_shares);
    s->idle_rows = lies_along_k(p, s->longer) ? idle + late * fmax(0, idle_at_end - idle) : 0;
    s->shared_bytes = slices * LINE_BYTES * (2. * config->bn + box + groups * config->bm);
}

/* Clusters of `size` CTAs, one CTA an SM, that the profile's chip has room for. */
static double clusters_of(const tsr_profile *f, int size)
{
    const double clusters[] = {0,
                               f->chip_sms,
                               f->clusters_of_2,
                               f->clusters_of_3,
                               f->clusters_of_4,
                               f->clusters_of_5,
                               f->clusters_of_6,
                               f->clusters_of_7,
                               f->clusters_of_8};
    return clusters[size];
}

/* `uncut`: what does not depend on how K is cut. */
static tsr_skinny spread_of(const tsr_config *config, const tsr_problem *p, const tsr_device *device,
                            const tsr_skinny *uncut, const tsr_launch_config *launch)
{
    const tsr_profile *const f = uncut->f;
    const double sms = device->cuda.sm_count, per_sm = uncut->per_sm;
    /* Those of 4 and more lie close together where two CTAs fit on an SM. */
    const int size = launch->cluster;
    const double usable = clusters_of(f, size) * size / f->chip_sms,
                 spread_over = size >= 4 ? f->skinny_clustered_sms / f->chip_sms : 1;
    tsr_skinny s = *uncut;
    const int parts = launch->schedule.cluster_k, split = launch->schedule.split_k;
    s.ctas = (double)launch->grid.x;
    s.sms = sms;
    s.parts = parts;
    s.left = launch->reduces ? split : 1;
    s.resident = floor(sms * per_sm * usable);
    s.waves = ceil(s.ctas / s.resident);
    s.together = fmin(per_sm, ceil(s.ctas / (sms * spread_over)));
    s.steps = ceil(ceil((double)p->k / config->bk) / split);
    const double waiting = fmin(s.ctas, s.resident) / split;
    s.waiting = waiting_of(&s.requests_shorter, waiting) + waiting_of(&s.requests_longer, waiting);
    return s;
}

/* A stage's way from memory while all SMs read. */
static double skinny_latency_ns(const tsr_skinny *s)
{
    const tsr_profile *const f = s->f;
    const double latency_ns = f->skinny_latency_ns;
    return with_waiting(f, latency_ns, s->waiting);
}

/* CTAs that reduce a tile in a cluster wait for the last one: wide tiles less, of two groups if their columns lie along
 * the shorter side. */
static double reduction_skew(const tsr_config *config, const tsr_skinny *s)
{
    const int is_wide = groups_of(config) == 2 && config->bm >= 2 * SLAB_LINES && !s->across;
    return groups_of(config) > 2 ? s->f->skinny_reduce_three_skew
           : is_wide             ? s->f->skinny_reduce_wide_skew
                                 : s->f->skinny_reduce_skew;
}

/* Two SMs share what rows that are not there cost: seen where more than half of the SMs have a CTA. */
static double idle_row_clocks(const tsr_skinny *s)
{
    const tsr_profile *const f = s->f;
    const double both_more = f->skinny_both_more, half = s->sms / 2;
    return f->hopper_idle_row_clocks * (1 + both_more * fmin(1, fmax(0, s->ctas - half) / half));
}

static int is_promoted(const tsr_config *config)
{
    return config->scaled && config->op.computes == TSR_COMPUTE_BIT(TSR_COMPUTE_F32);
}

static double skinny_step_ns(const tsr_config *config, const tsr_problem *p, const tsr_device *device,
                             const tsr_skinny *s)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double group_ns = f->skinny_group_ns, engine_bytes = f->skinny_engine_bytes,
                 shared_bytes = f->skinny_shared_bytes, ghz = clock_ghz(device);
    /* Groups wait for the same stages, and the more they are, the more power they take: beside other work, the clock
     * that they get is lower. All that multiplies for long waits for power. */
    const double alone_share = f->skinny_alone_share, two_share = f->skinny_two_share,
                 three_share = f->skinny_three_share, long_share = f->skinny_long_share, power_ns = f->skinny_power_ns;
    const double peak_ns = 2. * config->bm * config->bn * config->bk * s->element_bytes / (FLOP_BYTES_PER_CLOCK * ghz);
    const double all_ns = s->waves * s->steps * s->together * peak_ns, waits = all_ns / (all_ns + power_ns);
    const int has_two = groups_of(config) > 1; /* or more */
    const double short_share = groups_of(config) > 2 ? three_share : has_two ? two_share : alone_share;
    const double multiply_ns = peak_ns / (short_share + (long_share - short_share) * waits);
    /* Sums of 8 bits that leave the tensor cores after each step: nothing of this CTA covers it. */
    const double promote_ns = is_promoted(config) ? f->skinny_promote_ns + f->skinny_promote_column_ns * config->bm +
                                                        tsr_scales_ns(f, config, p, s->swap_ab ? 'a' : 'b')
                                                  : 0;
    const double step[4] = {group_ns, skinny_latency_ns(s) / s->stages,
                            s->together * fmax(multiply_ns, s->shared_bytes / (shared_bytes * ghz)) + promote_ns,
                            s->together * (s->step_bytes / engine_bytes + idle_row_clocks(s) * s->idle_rows) / ghz};
    /* Sharers wait for each other, the more the longer they walk; four of one group read so much less that it pays. Two
     * SMs have a way to L2 together: few CTAs have it for themselves, which a short ring does not use. */
    const double one_skew = config->cluster_n < 4 ? f->skinny_one_skew : f->skinny_one_far_skew,
                 two_skew = f->skinny_two_skew, part_skew = f->skinny_part_skew; /* of groups */
    const double narrow_share = f->skinny_narrow_share, wide_share = f->skinny_wide_share;
    /* Many tiles side by side ask for the same rows: one group waits for them, two multiply meanwhile. */
    const double across_one_skew = f->skinny_across_one_skew;
    const double long_skew = has_two ? two_skew : one_skew;
    const double deep_skew =
        s->parts > 1 ? f->skinny_deep_parts_skew : f->skinny_deep_skew; /* two boxes wide, few stages */
    const double skew = config->cluster_n == 1 ? 1 : s->left > 1 ? part_skew : long_skew;
    const double apart_share = has_two ? wide_share : s->per_sm > 1 ? 1 : narrow_share;
    const double apart = s->ctas > s->sms / 2 ? 1 : apart_share;
    return skew * (s->across && !has_two ? across_one_skew : 1) * (s->parts > 1 ? reduction_skew(config, s) : 1) *
           (config->bk * s->element_bytes > LINE_BYTES ? deep_skew : 1) * apart * longest_of(step);
}

/* Waves. A last one with few CTAs is faster, but for tiles of one group, which wait for memory. */
static double wave_times(const tsr_config *config, const tsr_skinny *s)
{
    const tsr_profile *const f = s->f;
    const double few_share = f->skinny_few_share, last = s->ctas - (s->waves - 1) * s->resident;
    return s->waves > 1 && groups_of(config) > 1 && last <= s->sms / 2 ? s->waves - 1 + few_share : s->waves;
}

/* 1 if whole tiles may go to D, of A's type, 16 bytes at a time (kernels/collective/wgmma_whole.h). */
static int leaves_by_chunks(const tsr_config *config, const tsr_problem *p)
{
    enum { CHUNK_BYTES = 16 };
    return !config->scaled && p->op.d == p->op.a && p->d.ld * (long long)tsr_dtype_bytes(p->op.d) % CHUNK_BYTES == 0;
}

/* Lines of a tile that threads take at once, four neighbours of a line each (collective/wgmma_reduce.h). */
static double lines_at_once(const tsr_config *config, const tsr_skinny *s)
{
    enum { SWAPPED_LINES = 8, MOST_LINES = 32 };
    const double threads = 2. * config->bn, quads = config->bm / 4.; /* of a line */
    double lines = MOST_LINES;
    while (lines > 2 && lines * quads > threads)
        lines /= 2;
    return s->swap_ab ? SWAPPED_LINES : lines;
}

/* What follows the products: the tile's sums go to the workspace as they lie in registers. Or to shared memory, from
 * where threads store lines of D, 8 neighbours at a time where they can (collective/wgmma_whole.h). Or clusters reduce
 * them, and each rank stores its share of the lines, four neighbours at a time by each thread, or one by one where D
 * takes no four at once. What threads of one group do takes longer beside other groups. */
static double skinny_end_ns(const tsr_config *config, const tsr_problem *p, const tsr_skinny *s)
{
    const tsr_profile *const f = s->f;
    enum { CHUNK = 8 };
    const double groups = groups_of(config), beside = 1 + f->skinny_beside_share * (groups - 1),
                 leave_bytes_per_ns = f->skinny_leave_bytes_per_ns;
    const double values = (double)config->bm * config->bn;
    const double lines = s->swap_ab ? fmin((double)p->m, s->rows) : fmin(config->bn, (double)p->m);
    if (s->left > 1)
        return 4 * values / leave_bytes_per_ns;
    if (s->parts <= 1 && config->bm >= 64 && leaves_by_chunks(config, p)) {
        const double begin_ns = f->skinny_whole_begin_ns, column_ns = f->skinny_column_ns,
                     chunk_ns = f->skinny_chunk_ns;
        const double width = s->swap_ab ? config->bn : config->bm;
        return begin_ns +
               beside * (column_ns * config->bm + chunk_ns * ceil(lines * width / CHUNK / (2. * config->bn)));
    }
    const double begin_ns = f->skinny_begin_ns, swapped_ns = f->skinny_swapped_ns, plain_ns = f->skinny_plain_ns,
                 line_ns = f->skinny_line_ns, cut_line_ns = f->skinny_cut_line_ns; /* more */
    const double reduce_ns = groups > 2 ? f->skinny_reduce_three_ns : f->skinny_reduce_ns,
                 leave_ns = groups > 2 ? f->skinny_leave_three_ns : 0, rank_ns = f->skinny_rank_ns;
    const double sent_byte_ns = f->skinny_sent_byte_ns, times = ceil(lines / s->parts / lines_at_once(config, s));
    const double stored_ns = line_ns + (p->d.ld % 4 == 0                ? 0
                                        : tsr_dtype_bytes(p->op.a) == 1 ? f->skinny_cut_any_ns
                                                                        : cut_line_ns);
    return begin_ns + beside * ((s->swap_ab ? swapped_ns : plain_ns) * config->bm + stored_ns * times) +
           (s->parts > 1 ? reduce_ns + leave_ns * values + rank_ns * (s->parts - 2) +
                               sent_byte_ns * 4 * values * (s->parts - 1) / s->parts
                         : 0);
}

/* The second launch, which reads what all CTAs have left and makes D. */
static double skinny_sum_ns(const tsr_config *config, const tsr_device *device, const tsr_skinny *s)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double sum_launch_ns = f->skinny_sum_launch_ns,
                 sums_share = f->skinny_sums_share; /* of the memory's rate: they lie in L2 */
    return sum_launch_ns + 2 * 4. * s->rows * config->bn * s->ctas / (sums_share * memory_rate(device));
}

/* Each further tile of one side reads the operand of the other again, nearly all of it from L2. */
static void find_operands(const tsr_problem *p, const tsr_device *device, tsr_skinny *s)
{
    const tsr_profile *const f = tsr_profile_of(device);
    /* Of the memory's rate: D's rows begin with lines, or within; where nothing else is on the way. */
    const double whole_share = f->skinny_whole_share, cut_share = f->skinny_cut_share,
                 output_share = f->skinny_output_share;
    const long long element = (long long)tsr_dtype_bytes(p->op.d);
    const double d_share = p->d.ld * element % LINE_BYTES == 0 ? whole_share : cut_share;
    const double d_bytes = (double)element * (double)p->m * (double)p->n;
    const double input_share = f->skinny_input_share,
                 parts_of_lines = f->skinny_parts_of_lines; /* of the longer one alone */
    const double longer_ns = operand_ns(p, device, s->longer, input_share, parts_of_lines);
    const double shorter_ns = operand_ns(p, device, s->shorter, input_share, 0);
    const double d_ns = d_bytes * (double)p->batch / memory_rate(device);
    s->operands_ns = longer_ns + shorter_ns + d_ns / d_share;
    s->output_ns = d_ns / output_share;
    s->again_ns = longer_ns * (s->short_tiles - 1) + shorter_ns * fmin(1, s->long_tiles - 1);
}

static double skinny_memory_ns(const tsr_skinny *s)
{
    const tsr_profile *const f = s->f;
    /* Parts for a second launch are many, and drift apart. */
    const double near_again = f->skinny_near_again, apart_again = f->skinny_apart_again;
    const double idle = f->skinny_idle_share * (1 - fmin(s->ctas, s->sms) / s->sms); /* few CTAs ask for less */
    return (1 + idle) * (s->operands_ns + (s->left > 1 ? apart_again : near_again) * s->again_ns);
}

/* Where a launch and the next one do not find room beside each other, some CTAs begin when those in front have ended,
 * and are not done when the others are. Worst if they are few; none are late if all fit, and equally late if none do.
 */
static double late_ns(const tsr_skinny *s, double memory_ns)
{
    const tsr_profile *const f = s->f;
    const double once_ns = f->skinny_once_ns, memory_share = f->skinny_late_share,
                 shared = f->skinny_shared; /* where tiles read the same operand */
    const double late = fmin(1, (2 * s->ctas - s->resident) / s->ctas);
    return late <= 0 ? 0 : (once_ns + memory_share * memory_ns) * (1 - late) * (s->short_tiles > 1 ? shared : 1);
}

/* Where clusters take all places there are, those of the next launch have to wait for whole ones. */
static double filled_ns(const tsr_skinny *s)
{
    const tsr_profile *const f = s->f;
    const double wait_ns = f->skinny_wait_ns, left = s->resident - s->ctas;
    return s->parts > 1 && left >= 0 && left < s->parts ? wait_ns : 0;
}

/* Where two CTAs fit on an SM, those of a launch that comes while the one in front is there take what room there is, so
 * that some SMs have two of them and others one: worst with as many as there are SMs, not with half or twice as many.
 */
static double paired_ns(const tsr_skinny *s, double memory_ns)
{
    const tsr_profile *const f = s->f;
    const double memory_share = f->skinny_paired_share, sms = s->sms;
    const double paired = s->per_sm > 1 ? 1 - fabs(s->ctas - sms) / (s->ctas < sms ? sms / 2 : sms) : 0;
    return fmax(0, paired) * memory_share * memory_ns;
}

void tsr_skinny_begin(tsr_skinny *s, const tsr_config *config, const tsr_problem *p, const tsr_device *device,
                      int swap_ab)
{
    const tsr_gemm_args args = {.m = p->m,
                                .n = p->n,
                                .trans_a = p->a.trans == TSR_T,
                                .trans_b = p->b.trans == TSR_T,
                                .schedule = {.swap_ab = swap_ab}};
    const double shorter = (double)(swap_ab ? p->m : p->n), longer = (double)(swap_ab ? p->n : p->m);
    *s = (tsr_skinny){.f = tsr_profile_of(device),
                      .shorter = swap_ab ? 'a' : 'b',
                      .longer = swap_ab ? 'b' : 'a',
                      .swap_ab = swap_ab,
                      .across = swap_ab != (p->m <= p->n),
                      .element_bytes = element_bytes(p)};
    s->rows = tsr_config_short_tile(config, &args);
    s->per_sm = tsr_ctas_per_sm(config, &device->cuda);
    s->short_tiles = ceil(shorter / config->bm);
    s->long_tiles = ceil(longer / (config->bn * config->cluster_n));
    s->requests = (requests_for_lines(p, s->shorter) / fmax(1, s->short_tiles) +
                   requests_for_lines(p, s->longer) / fmax(1, s->long_tiles)) /
                  (config->cluster_n * fmax(1, (double)p->batch));
    s->requests_shorter = requests_of(p, s->shorter, config->cluster_n);
    s->requests_longer = requests_of(p, s->longer, 1);
    find_operands(p, device, s);
    find_step(config, p, s);
}

/* CTAs of a later wave begin when others have ended. */
void tsr_price_skinny(tsr_skinny *uncut, const tsr_config *config, const tsr_problem *p, const tsr_device *device,
                      const tsr_launch_config *launch, double best_ns, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double floor_ns = f->skinny_floor_ns, start_ns = f->skinny_start_ns, l2_bytes = f->skinny_l2_bytes;
    const double begin_ns = uncut->per_sm > 1
                                ? f->skinny_beside_begin_ns
                                : f->skinny_begin_alone_ns; /* beside another CTA, or when the SM is empty */
    const double second_ns = f->skinny_second_ns;           /* a launch that finds its operands just written */
    out->bytes = element_bytes(p) * (double)p->batch * ((double)p->m * (double)p->k + (double)p->k * (double)p->n);
    out->gpu_ns = floor_ns;
    out->launches = 1;
    out->ns = tsr_launched_ns(f, 1, floor_ns);
    out->limiter = "launch";
    if (p->m == 0 || p->n == 0 || p->batch == 0)
        return;
    if (uncut->swap_ab != launch->schedule.swap_ab)
        tsr_skinny_begin(uncut, config, p, device, launch->schedule.swap_ab);
    const tsr_skinny s = spread_of(config, p, device, uncut, launch);
    const double begun = fmin(s.ctas, s.resident), end_ns = skinny_end_ns(config, p, &s);
    const double l2_ns = s.ctas * s.steps * s.l2_bytes / (s.sms * l2_bytes * clock_ghz(device));
    const double waves_ns =
        wave_times(config, &s) * s.steps * skinny_step_ns(config, p, device, &s) + (s.waves - 1) * (begin_ns + end_ns);
    const double memory_ns = skinny_memory_ns(&s);
    const tsr_parts parts = {
        .launches = s.left > 1 ? 2 : 1,
        .before_ns = late_ns(&s, memory_ns) + paired_ns(&s, memory_ns) + filled_ns(&s),
        .floor_ns = s.left > 1 ? floor_ns + second_ns : floor_ns,
        .fill_ns = start_ns + f->hopper_cta_ns * begun + first_request_ns(f, s.requests * begun * s.waves, s.waiting),
        .work_ns = overlapped(STEP_SHARPNESS, waves_ns, l2_ns) + end_ns,
        .memory_ns = memory_ns,
        .after_ns = s.output_ns / s.waves + (s.left > 1 ? skinny_sum_ns(config, device, &s) : 0),
        .sharpness = lies_along_k(p, s.longer) ? f->skinny_sharpness_k : f->skinny_sharpness_mn,
    };
    settle(f, &parts, best_ns, out);
}
