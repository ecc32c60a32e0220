/* What a product takes with a config of `wgmma_skinny`, by the parts that price_wgmma.c names, however K is
 * partitioned: the same estimate orders configs and schedules (select.c). Where it differs:
 *
 *   - a stage has a latency that short rings show, and power lowers the tensor cores' clock in long products;
 *   - CTAs that share an operand or meet wait for each other;
 *   - launches that find no room beside each other end late (late_ns, filled_ns).
 *
 * Constants: fitted to times of an H200 in both layouts, perf/LOG. */
#include <math.h>
#include <stdlib.h>

#include "plan/price_common.h"
#include "plan/price_hopper.h"

/* Warp groups of a tile, 64 rows of the longer side each. */
static int groups_of(const tsr_config *config)
{
    return config->bn / LINE_ELEMS;
}

/* A stage's boxes: those along M or N are 64 wide at least, which the ring has to hold. */
static void find_step(const tsr_config *config, const tsr_problem *p, tsr_skinny *s)
{
    const tsr_profile *const f = s->f;
    const int is_along_k = lies_along_k(p, s->shorter);
    const double ring_box = is_along_k ? config->bm : ceil(config->bm / 64.) * 64,
                 box = is_along_k ? s->rows : ring_box;
    const double longer = (double)(s->swap_ab ? p->n : p->m), shorter = (double)(s->swap_ab ? p->m : p->n);
    const double long_pieces = pieces_of(p, s->longer, config->bn, longer);
    const double short_pieces = pieces_of(p, s->shorter, box, shorter) / config->cluster_n;
    const double slices = (double)config->bk / LINE_ELEMS;
    s->stages = floor(config->ring_bytes / (slices * LINE_BYTES * (config->bn + ring_box)));
    s->step_bytes = slices * step_bytes(p, s->swap_ab ? short_pieces : long_pieces,
                                        s->swap_ab ? long_pieces : short_pieces, f->hopper_within_share);
    const double long_rows = fmin(config->bn, longer), short_rows = fmin(box, shorter) / config->cluster_n;
    s->l2_bytes = slices * step_bytes(p, s->swap_ab ? short_rows : long_rows, s->swap_ab ? long_rows : short_rows, 1);
    s->idle_rows = lies_along_k(p, s->longer) ? fmax(0, config->bn - longer) : 0;
}

/* `uncut`: what does not depend on how K is cut. */
static tsr_skinny spread_of(const tsr_config *config, const tsr_problem *p, const tsr_device *device,
                            const tsr_skinny *uncut, const tsr_launch_config *launch)
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
    s.steps = ceil(ceil((double)p->k / config->bk) / split);
    const double waiting = fmin(s.ctas, s.resident) / split;
    s.waiting = waiting_of(&s.requests_shorter, waiting) + waiting_of(&s.requests_longer, waiting);
    return s;
}

static double skinny_step_ns(const tsr_config *config, const tsr_device *device, const tsr_skinny *s)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double ghz = clock_ghz(device);
    const double peak_ns = 2. * config->bm * config->bn * config->bk / (FLOPS_PER_CLOCK * ghz);
    const double multiply_ns = peak_ns * power_skew(f, s->waves * s->steps * s->together * peak_ns);
    const double stage_ns = (f->hopper_latency_ns + f->hopper_waiting_ns * s->waiting) / s->stages;
    const double engine_ns = (s->step_bytes / f->hopper_engine_bytes + f->hopper_idle_row_clocks * s->idle_rows) / ghz;
    const double step_ns = overlapped(STEP_SHARPNESS, stage_ns,
                                      overlapped(STEP_SHARPNESS, s->together * multiply_ns, s->together * engine_ns));
    /* CTAs that share boxes wait for each other, but for two groups, which multiply meanwhile; those that meet wait for
     * the last one. */
    const int has_two = groups_of(config) > 1; /* or more */
    const double sharing_skew = config->cluster_n > 1 && (s->left > 1 || !has_two) ? f->skinny_sharing_skew : 1,
                 meeting_skew = s->parts > 1 ? f->skinny_meeting_skew : 1;
    /* Two SMs have a way to L2 together: few CTAs have it for themselves, which a short ring does not use. */
    const int is_apart = s->ctas <= s->sms / 2 && (has_two || s->per_sm <= 1);
    return sharing_skew * meeting_skew * (is_apart ? f->skinny_apart_share : 1) * step_ns;
}

/* 1 if whole tiles may go to D 16 bytes at a time (kernels/collective/wgmma_whole.h). */
static int leaves_by_chunks(const tsr_problem *p)
{
    enum { CHUNK_ELEMS = 8 };
    return tsr_dtype_bytes(p->op.d) == ELEMENT_BYTES && p->d.ld % CHUNK_ELEMS == 0;
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
 * where threads store lines of D, 8 neighbours at a time where they can (collective/wgmma_whole.h). Or clusters meet,
 * and each rank stores its share of the lines, four neighbours at a time by each thread, or one by one where D takes no
 * four at once. What threads of one group do takes longer beside other groups. */
static double skinny_end_ns(const tsr_config *config, const tsr_problem *p, const tsr_skinny *s)
{
    const tsr_profile *const f = s->f;
    enum { CHUNK = 8 };
    if (s->left > 1)
        return 0; /* beside what other CTAs do */
    const double groups = groups_of(config), beside = 1 + f->skinny_beside_share * (groups - 1);
    const double lines = s->swap_ab ? fmin((double)p->m, s->rows) : fmin(config->bn, (double)p->m);
    if (s->parts <= 1 && config->bm >= 64 && leaves_by_chunks(p)) {
        const double width = s->swap_ab ? config->bn : config->bm,
                     times = ceil(lines * width / CHUNK / (2. * config->bn));
        return f->hopper_meet_ns + beside * (f->skinny_column_ns * config->bm + f->skinny_line_ns * times);
    }
    const double times = ceil(lines / s->parts / lines_at_once(config, s)), stores = p->d.ld % 4 == 0 ? 1 : 2;
    return beside * (f->skinny_sum_column_ns * config->bm + f->skinny_line_ns * stores * times) +
           (s->parts > 1 ? f->hopper_meet_ns : 0);
}

/* The second launch, which reads what all CTAs have left and makes D. */
static double skinny_sum_ns(const tsr_config *config, const tsr_device *device, const tsr_skinny *s)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double sum_launch_ns = f->skinny_sum_launch_ns, sums_share = f->skinny_sums_share; /* of the memory's rate */
    return sum_launch_ns + 2 * 4. * s->rows * config->bn * s->ctas / (sums_share * memory_rate(device));
}

/* Where a launch and the next one do not find room beside each other, some CTAs begin when those in front have ended,
 * and are not done when the others are. Worst if they are few; none are late if all fit, and equally late if none do.
 */
static double late_ns(const tsr_skinny *s)
{
    const double late = fmin(1, (2 * s->ctas - s->resident) / s->ctas);
    return late <= 0 ? 0 : s->f->hopper_meet_ns * (1 - late);
}

/* Where clusters take all places there are, those of the next launch have to wait for whole ones. */
static double filled_ns(const tsr_skinny *s)
{
    const double left = s->resident - s->ctas;
    return s->parts > 1 && left >= 0 && left < s->parts ? s->f->skinny_wait_ns : 0;
}

/* Operands once, and D. Each further tile of one side reads the operand of the other again, mostly from L2.
 */
static void find_memory_ns(tsr_skinny *s, const tsr_config *config, const tsr_problem *p, const tsr_device *device)
{
    const double shorter = (double)(s->swap_ab ? p->m : p->n), longer = (double)(s->swap_ab ? p->n : p->m);
    const double longer_ns = operand_ns(p, device, s->longer), shorter_ns = operand_ns(p, device, s->shorter);
    const double short_tiles = ceil(shorter / config->bm), long_tiles = ceil(longer / (config->bn * config->cluster_n));
    const double again_ns = longer_ns * (short_tiles - 1) + shorter_ns * fmin(1, long_tiles - 1);
    s->memory_ns = longer_ns + shorter_ns + stores_ns(p, device) + s->f->skinny_again_share * again_ns;
}

void tsr_skinny_begin(tsr_skinny *s, const tsr_config *config, const tsr_problem *p, const tsr_device *device,
                      int swap_ab)
{
    const tsr_gemm_args args = {.m = p->m,
                                .n = p->n,
                                .trans_a = p->a.trans == TSR_T,
                                .trans_b = p->b.trans == TSR_T,
                                .schedule = {.swap_ab = swap_ab}};
    *s = (tsr_skinny){
        .f = tsr_profile_of(device), .shorter = swap_ab ? 'a' : 'b', .longer = swap_ab ? 'b' : 'a', .swap_ab = swap_ab};
    s->rows = tsr_config_short_tile(config, &args);
    s->per_sm = tsr_ctas_per_sm(config, &device->cuda);
    s->requests_shorter = requests_of(p, s->shorter, config->cluster_n);
    s->requests_longer = requests_of(p, s->longer, 1);
    find_memory_ns(s, config, p, device);
    find_step(config, p, s);
}

/* CTAs of a later wave begin when others have ended. D leaves after the last one. */
void tsr_price_skinny(tsr_skinny *uncut, const tsr_config *config, const tsr_problem *p, const tsr_device *device,
                      const tsr_launch_config *launch, double best_ns, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    out->bytes = 2.0 * (double)p->batch * ((double)p->m * (double)p->k + (double)p->k * (double)p->n);
    out->gpu_ns = f->hopper_fill_ns;
    out->launches = 1;
    out->ns = tsr_launched_ns(f, 1, out->gpu_ns);
    out->limiter = "launch";
    if (p->m == 0 || p->n == 0 || p->batch == 0)
        return;
    if (uncut->swap_ab != launch->schedule.swap_ab)
        tsr_skinny_begin(uncut, config, p, device, launch->schedule.swap_ab);
    const tsr_skinny s = spread_of(config, p, device, uncut, launch);
    const double end_ns = skinny_end_ns(config, p, &s);
    const double waves_ns = s.waves * s.steps * skinny_step_ns(config, device, &s);
    const double l2_ns = s.ctas * s.steps * s.l2_bytes / (s.sms * f->hopper_l2_bytes * clock_ghz(device));
    const tsr_parts parts = {
        .launches = s.left > 1 ? 2 : 1,
        .fill_ns = f->hopper_fill_ns + f->hopper_walk_ns * s.waiting + late_ns(&s) + filled_ns(&s),
        .work_ns = overlapped(STEP_SHARPNESS, waves_ns + (s.waves - 1) * (f->skinny_begin_ns + end_ns), l2_ns) + end_ns,
        .memory_ns = s.memory_ns,
        .after_ns = stores_ns(p, device) / s.waves + (s.left > 1 ? skinny_sum_ns(config, device, &s) : 0),
        .sharpness = HARD_SHARPNESS,
    };
    settle(f, &parts, best_ns, out);
}
