/* What a product takes with a config of `wgmma-kmajor`: its tiles' products, the ends of tiles, and what units that
 * share tiles cost. Simpler than price_wgmma.c; no term is for the host. Constants: perf/LOG/types.md. */
#include <math.h>

#include "core/dtype.h"
#include "plan/price_common.h"
#include "plan/price_hopper.h"

/* Rows of a tile's boxes that an operand does not have, for which the copy engine takes longer than for others: of all
 * tiles, or with `last` of the last one of either side. */
static double idle_rows(const tsr_config *config, const tsr_problem *p, int last)
{
    const int across = tsr_config_lies_across(config, &p->op, p->a.trans == TSR_T);
    const double rows = (double)(across ? p->n : p->m), columns = (double)(across ? p->m : p->n);
    const double tall = last ? ceil(rows / config->bm) * config->bm : config->bm,
                 wide = last ? ceil(columns / config->bn) * config->bn : config->bn;
    return fmax(0, tall - rows) + fmax(0, wide - columns);
}

/* What the copy engine takes for the boxes of `steps`, of whose rows so many are not there. */
static double engine_ns(const tsr_profile *f, const tsr_config *config, const tsr_device *device, double steps,
                        double idle)
{
    const double rows = config->bm + config->bn;
    return steps * (f->hopper_idle_row_clocks * idle + LINE_BYTES / f->skinny_engine_bytes * rows) / clock_ghz(device);
}

/* Values of four bytes behind tf32 and 8-bit integers, which were measured; those behind 8-bit floats and compressed
 * operands were not. */
static int is_wide(const tsr_op *op)
{
    return tsr_dtype_bytes(op->d) == 4 && !tsr_dtype_is_fp8(op->a) && !op->sparse24;
}

/* 1 if D cannot take four neighbours by one store: lanes store single elements. */
static int is_ragged(const tsr_problem *p)
{
    return p->n % 4 != 0 || p->d.ld % 4 != 0;
}

/* What storing a value of D takes, where nothing is multiplied meanwhile: boxes leave by themselves. */
static double kmajor_value_ns(const tsr_profile *f, const tsr_config *config, const tsr_problem *p)
{
    const tsr_op *const op = &p->op;
    if (is_ragged(p))
        return f->kmajor_ragged_ns;
    if (config->boxed_d && tsr_dtype_bytes(op->d) == 2)
        return f->kmajor_boxed_value_ns;
    return tsr_dtype_bytes(op->a) == 1 && op->d == TSR_F32 ? f->kmajor_f32_value_ns : f->kmajor_value_ns;
}

/* With ping-pong: 0 where the end of a tile is as short as products of the other warp group (collective/wgmma_lean.h,
 * and quads of wgmma_pieces.h); else what a value takes, which products hide in part. Whether C is read is not known
 * here. */
static double kmajor_turn_ns(const tsr_profile *f, const tsr_problem *p)
{
    const tsr_op *const op = &p->op;
    if (is_ragged(p))
        return f->kmajor_ragged_ns;
    if (tsr_dtype_bytes(op->a) != 1 || tsr_dtype_bytes(op->d) == 2 || op->d == TSR_S32)
        return 0;
    return op->d == TSR_F32 ? f->kmajor_added_ns : f->kmajor_slow_end_ns;
}

/* Storing D beside nothing else: four bytes a value leave faster than mma.sync's kernels store them. Where lanes store
 * single elements, so many of these leave at most, of any type. */
static double kmajor_output_ns(const tsr_profile *f, const tsr_problem *p, const tsr_device *device)
{
    const double values = (double)p->m * (double)p->n * (double)p->batch,
                 bytes = values * (double)tsr_dtype_bytes(p->op.d);
    const double whole_ns = is_wide(&p->op) ? bytes / (f->kmajor_output_share * device->memory_bytes_per_s) * 1e9
                                            : tsr_price_output_ns(p, device);
    return is_ragged(p) ? fmax(whole_ns, values / f->kmajor_ragged_per_ns) : whole_ns;
}

/* What the boxes of `depth` steps take where rows do not begin at whole lines, so that each row of a box is parts of
 * two: two SMs have a way to L2 together, which fewer CTAs than half of the SMs have for themselves. */
static double cut_rows_ns(const tsr_profile *f, const tsr_config *config, const tsr_problem *p,
                          const tsr_device *device, double depth, double ctas)
{
    const int across = tsr_config_lies_across(config, &p->op, p->a.trans == TSR_T);
    const double rows = config->bm * (tsr_lines_touched(p, across ? 'b' : 'a') - 1) +
                        (double)config->bn / config->cluster_m * (tsr_lines_touched(p, across ? 'a' : 'b') - 1);
    if (p->op.sparse24)
        return 0; /* not measured */
    const double share = ctas > device->cuda.sm_count / 2.0 ? 1 : f->kmajor_few_share;
    return depth * rows * f->kmajor_cut_row_clocks * share / clock_ghz(device);
}

/* Stream-K in wgmma_kmajor: what a cluster's share of the tiles in common costs beyond its products. */
typedef struct kmajor_share {
    double steps; /* along K; 0: all tiles are whole */
    double l2_ns; /* of all of these, that an SM waits for L2 alone */
    double fixup_ns;
} kmajor_share;

/* Units that begin at the same steps of different tiles ask for the same lines at the same time, which L2 answers
 * sooner than others'. Where units are no equal parts of tiles, they begin anywhere, and a tile has one part more.
 * Parts meet at a tile's end: somebody leaves sums, is told of, and is read, part after part. */
static kmajor_share kmajor_share_of(const tsr_profile *f, const tsr_config *config, const tsr_device *device,
                                    double steps, const tsr_schedule *s)
{
    const double shared = s->stream_k_tiles, units = s->stream_k_units;
    if (shared == 0)
        return (kmajor_share){0};
    const int is_even = fmod(units, shared) == 0 && fmod(steps * shared, units) == 0;
    const double parts = ceil(units / shared) + !is_even, own = ceil(steps * shared / units);
    const double bytes = LINE_BYTES * (config->bm + (double)config->bn / config->cluster_m);
    const double rate = (is_even ? f->kmajor_even_bytes : f->kmajor_alone_bytes) * clock_ghz(device);
    return (kmajor_share){.steps = own,
                          .l2_ns = own * bytes / rate * fmin(1, units * config->cluster_m / device->cuda.sm_count),
                          .fixup_ns = f->kmajor_fixup_ns + (parts - 1) * config->bm * config->bn * f->kmajor_sum_ns};
}

/* A config's efficiency is that of large problems, whose products wait for power: the share of their time that they
 * take where they keep all SMs busy for `busy_ns`. Of tf32 it was not seen. */
static double kmajor_power(const tsr_profile *f, const tsr_problem *p, double busy_ns)
{
    enum { NOTHING_LEFT = 40 }; /* beyond that exp() would underflow, which raises an exception that callers may trap */
    return tsr_dtype_bytes(p->op.a) == 1
               ? 1 - f->kmajor_short_gain * exp(-fmin(busy_ns / f->kmajor_short_ns, NOTHING_LEFT))
               : 1;
}

/* Clusters of tiles on a persistent grid, each of which has a share of the stream-K tiles and then whole ones; the SMs
 * of the last wave decide. A tile's end is beside nothing, as all of its warp groups store it together, but with
 * ping-pong. */
void tsr_price_kmajor(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                      const tsr_launch_config *launch, tsr_price *out)
{
    const tsr_schedule *const s = &launch->schedule;
    const tsr_profile *const f = tsr_profile_of(device);
    const double shared = s->stream_k_tiles, units = s->stream_k_units;
    const double fill_ns = f->kmajor_fill_ns; /* until the first boxes have come */
    const double value_ns = kmajor_value_ns(f, config, problem);
    const double cluster = tsr_config_cluster(config), clusters = tsr_config_clusters(config, device->cuda.sm_count);
    const double whole = ceil((tsr_cluster_tiles(config, problem) - shared) / (units > 0 ? units : clusters));
    const double tiles = tsr_cta_tiles(config, problem);
    const double waves = whole + (shared > 0); /* tiles of a cluster, of which the first is a part */
    const double steps = ceil((double)problem->k / config->bk), sms = clusters * cluster;
    const kmajor_share share = kmajor_share_of(f, config, device, steps, s);
    const double depth = whole * steps + share.steps; /* of a cluster */
    const double flops = 2.0 * sms * config->bm * config->bn * depth * config->bk;
    const double bytes = tsr_price_cached_bytes(config, problem, tiles);
    const double scales_ns = tsr_scales_ns(f, config, problem, 'b');
    const double alone = config->pingpong ? fmin(1, waves) : waves; /* tiles of an SM that it stores and does no more */
    const double stored_ns = config->pingpong ? kmajor_turn_ns(f, problem) * config->bm * config->bn : 0;
    const double ctas = fmin(sms, tiles - shared * cluster + units * cluster);
    /* Rows that no tile has were seen to cost two halves of a tile as much as the whole. Those that the last tile lacks
     * count where an SM has nothing else. */
    const double all_ns =
        engine_ns(f, config, device, whole * steps + fmin(steps, 2 * share.steps), idle_rows(config, problem, 0));
    const double last_ns = waves <= 1 ? engine_ns(f, config, device, depth, idle_rows(config, problem, 1)) : 0;
    const double long_ns = flops / (tsr_price_peak_flops(&problem->op, device) * config->efficiency) * 1e9;
    const double products_ns = long_ns * kmajor_power(f, problem, long_ns * tiles / fmax(1, waves * sms));
    const double multiplied_ns =
        fmax(fmax(products_ns, cut_rows_ns(f, config, problem, device, depth, ctas)), fmax(all_ns, last_ns));
    const double waited_ns = fmax(0, share.l2_ns - share.steps / fmax(1, depth) * multiplied_ns);
    const double computed_ns = multiplied_ns + waited_ns + alone * value_ns * config->bm * config->bn +
                               depth * scales_ns + fmax(0, waves * stored_ns - multiplied_ns) / 2;
    const double memory_ns =
        tsr_price_input_ns(problem, device, f->kmajor_lines_power) + kmajor_output_ns(f, problem, device);
    tsr_price_settle_beside(
        out, tsr_launch_ns(config, device) + fill_ns + (cluster > 1 ? f->kmajor_cluster_ns : 0) + share.fixup_ns,
        computed_ns, memory_ns, bytes);
    out->ns += overlapped_by(f->kmajor_sharpness, computed_ns, memory_ns) - fmax(computed_ns, memory_ns);
}
