/* Prices of the kernels without tensor cores that partition K: stream-k, cluster-k and thin. */
#include <math.h>

#include "plan/price_common.h"
#include "plan/price_hopper.h"

/* FLOP per nanosecond of one SM that has warps enough. */
static double full_rate(const tsr_config *config, const tsr_device *device)
{
    const int is_f64 = (config->op.a & TSR_TYPE_BIT(TSR_F64)) != 0;
    const double peak_flops = is_f64 ? device->peak_flops_f64 : device->peak_flops_f32;
    return peak_flops * 1e-9 / device->cuda.sm_count * config->efficiency;
}

/* The same if it holds `ctas` CTAs. */
static double sm_rate(const tsr_config *config, const tsr_device *device, double ctas)
{
    const double warps = ctas * config->threads_x * config->threads_y / 32;
    return full_rate(config, device) * tsr_price_busy_share(tsr_profile_of(device), warps);
}

/* The SM with most CTAs decides where tiles are whole. Units keep every SM equally busy; what they cost beside is
 * writing their sums and reading those of the others, by the last CTA of a tile. */
static double stream_k_ns(const tsr_config *config, const tsr_device *device, double tiles, double steps,
                          const tsr_schedule *s)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double handover_ns = f->stream_k_handover_ns + f->stream_k_value_ns * config->bm * config->bn,
                 bytes_per_ns = f->stream_k_bytes_per_ns; /* of an SM; measured on an H200, perf/LOG */
    const double sms = device->cuda.sm_count, slots = sms * config->sm_ctas;
    const double step_flops = 2.0 * config->bm * config->bn * config->bk;
    const double whole = tiles - s->stream_k_tiles;
    if (s->stream_k_tiles == 0) {
        const double warps = config->threads_x * config->threads_y / 32.;
        return tsr_price_rounds(f, config, ceil(whole / sms), warps) * steps * step_flops / full_rate(config, device);
    }
    const double units = s->stream_k_units, shared = s->stream_k_tiles;
    const double share = steps * shared / units; /* steps of a unit */
    const double held = whole > 0 ? config->sm_ctas : fmin(ceil(units / sms), config->sm_ctas);
    const double parts = 1 + units / shared;
    const double sums_ns = handover_ns + held * (1 + parts) * 4 * config->bm * config->bn / bytes_per_ns;
    const double rounds = ceil(whole / slots) * steps + share * fmax(1, units / (held * sms));
    /* Short shares behind one round of whole tiles take longer than their steps, from nothing to a half of the whole;
     * what decides was not found. */
    const double mixed = whole > 0 && whole <= slots && 2 * shared < units ? f->stream_k_mixed : 1;
    return mixed * rounds * held * step_flops / sm_rate(config, device, held) + sums_ns;
}

/* Operands that lie along K come from memory in pieces of a step, 64 bytes of each row, at a part of its rate. */
static double beside_pieces(const tsr_profile *f, const tsr_problem *p, const tsr_device *device, double ns)
{
    const double rows = (p->a.trans == TSR_N ? (double)p->m : 0) + (p->b.trans == TSR_T ? (double)p->n : 0);
    const double bytes = rows * (double)p->k * (double)p->batch * (double)tsr_dtype_bytes(p->op.a);
    return overlapped_by(f->pieces_sharpness, ns, bytes / (f->pieces_share * device->memory_bytes_per_s) * 1e9);
}

void tsr_price_stream_k(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                        const tsr_launch_config *launch, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double fill_ns = f->stream_k_fill_ns;
    const double steps = ceil((double)problem->k / config->bk);
    const double ns = fmax(tsr_price_transposing(f, config, problem), 1) *
                      stream_k_ns(config, device, tsr_cta_tiles(config, problem), steps, &launch->schedule);
    /* A CTA begins its next tile when the one before is stored. */
    const double rounds = ceil(tsr_cta_tiles(config, problem) / ((double)device->cuda.sm_count * config->sm_ctas));
    tsr_price_settle(config, problem, device, beside_pieces(f, problem, device, ns) + fmax(1, rounds) * fill_ns, out);
    const double per_sm = ceil(tsr_cta_tiles(config, problem) / device->cuda.sm_count);
    out->ns += tsr_price_uncovered_ns(problem, device, 1) + tsr_price_elements_ns(f, config, problem, per_sm, ns);
    if (tsr_is_stored_by_quads(problem))
        out->ns += f->stream_k_partial_share * tsr_price_partial_lines_ns(problem, device);
    out->rank_ns = ns;
}

/* CTAs of one SM, in the end. The hardware spreads clusters as long as two CTAs on each of some 112 SMs suffice;
 * further ones lie as close together as an SM can hold. Measured on an H200, perf/LOG. */
static double busiest_sm(const tsr_config *config, const tsr_device *device, double tiles, int parts)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double sms = device->cuda.sm_count, ctas = tiles * parts;
    const double spread = floor(sms * f->cluster_k_spread_sms / f->chip_sms),
                 packed = floor(sms * f->cluster_k_packed_sms / f->chip_sms) * config->sm_ctas;
    return ctas <= spread * 2 ? ceil(ctas / spread) : config->sm_ctas * ceil(ctas / packed);
}

/* CTAs that share a tile meet twice, once before they add and once before they end; each reads its share of the tile
 * from all. */
void tsr_price_cluster_k(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                         const tsr_launch_config *launch, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const double reduce_ns = f->cluster_k_reduce_ns, bytes_per_ns = f->cluster_k_bytes_per_ns; /* of an SM */
    const double fill_ns = f->cluster_k_fill_ns,
                 alone_ns = f->cluster_k_alone_ns; /* the latter where the next grid does not begin early */
    const double short_steps = 16, parts = launch->schedule.cluster_k;
    const double steps = ceil((double)problem->k / config->bk);
    const double per_sm = busiest_sm(config, device, tsr_cta_tiles(config, problem), launch->schedule.cluster_k);
    const double held = fmin(per_sm, config->sm_ctas);
    const double flops = 2.0 * config->bm * config->bn * config->bk * ceil(steps / parts);
    const double adding_ns = parts > 1 ? reduce_ns + per_sm * 4 * config->bm * config->bn / bytes_per_ns : 0;
    /* A tile's way to memory, which other CTAs' products cover: all there is where K is short. By an H100, perf/LOG. */
    const double stored_ns = per_sm * f->cluster_k_value_ns * config->bm * config->bn;
    /* Of tiles with a short side; that of one with two long sides is in the efficiency. */
    const double by_tile = tsr_price_transposing(f, config, problem) * (1 + f->transposed_copy_fmas / config->bn),
                 transposing = fmax(1, by_tile / (1 + f->transposed_copy_fmas / 64));
    const double flops_ns = held > 0 ? transposing * per_sm * flops / sm_rate(config, device, held) : 0;
    /* CTAs that all run at once also end at once: no products cover what they store. By an H200, perf/LOG. */
    const double multiplied_ns =
        parts == 1 && per_sm <= held ? flops_ns + stored_ns : overlapped(STEP_SHARPNESS, flops_ns, stored_ns);
    const double ns = multiplied_ns + adding_ns;
    const int is_alone = steps > short_steps * parts;
    tsr_price_settle(config, problem, device,
                     beside_pieces(f, problem, device, ns) + fill_ns + (is_alone ? alone_ns : 0), out);
    out->ns += tsr_price_uncovered_ns(problem, device, 1) + tsr_price_partial_lines_ns(problem, device);
    out->rank_ns = ns;
}

/* A CTA's warps take steps along K of a tile, each bound by its bytes or by what becomes of them, the more the more
 * eights of rows the small operand has; an SM has one CTA. The large operand is read once for each tile along the short
 * side. */
static void price_thin_mma(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                           const tsr_launch_config *launch, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const int has_few_rows = config->unaligned_b; /* else few columns */
    const int is_along_k = has_few_rows ? config->b_layout == TSR_ONLY_T : config->a_layout == TSR_ONLY_N;
    const double lines = (double)(has_few_rows ? problem->m : problem->n), parts = launch->schedule.split_k;
    const double ctas = tsr_cta_tiles(config, problem) * parts, sms = device->cuda.sm_count;
    const double eights = ceil(fmin(lines, config->bm) / 8), panels = ceil((double)problem->k / config->bk / parts);
    const double byte_ns = is_along_k ? f->thin_mma_along_ns + eights * f->thin_mma_along_eight_ns
                                      : f->thin_mma_ns + eights * f->thin_mma_eight_ns;
    const double memory_ns = fmin(ctas, sms) / (f->thin_reach * device->memory_bytes_per_s * 1e-9);
    const double panel_ns = 2.0 * config->bn * config->bk * fmax(byte_ns, memory_ns);
    const double cta_ns =
        f->thin_mma_cta_ns + eights * (is_along_k ? f->thin_mma_along_cta_eight_ns : f->thin_mma_cta_eight_ns);
    const double sums_ns = parts > 1 ? f->thin_mma_handover_ns + parts * f->thin_mma_part_ns : 0;
    tsr_price_settle(config, problem, device, ceil(ctas / sms) * (panels * panel_ns + cta_ns) + sums_ns, out);
    out->gpu_ns = out->ns;
    out->launches = 1;
    out->ns = tsr_launched_ns(f, 1, out->gpu_ns) + tsr_slower_launch_ns(config, device);
}

/* The large operand of f32 comes from memory once, and nearly all of it from L2 where tiles read it again, since these
 * run together. A CTA takes so long for each step along K, whatever the SM's other CTA does, and for its begin and end.
 */
static void price_thin_f32(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                           const tsr_launch_config *launch, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    const int has_few_rows = config->bm < config->bn;
    const double few = has_few_rows ? config->bm : config->bn,
                 large_lines = (double)(has_few_rows ? problem->n : problem->m);
    const double parts = launch->schedule.split_k;
    const double per_sm = ceil(tsr_cta_tiles(config, problem) * parts / device->cuda.sm_count),
                 held = fmin(per_sm, config->sm_ctas);
    const double step_ns = (f->thin_f32_step_ns + f->thin_f32_step_row_ns * few) *
                           (config->align_elems > 1 ? 1 : f->thin_f32_elements_share);
    const double chain_ns = ceil((double)problem->k / parts) * step_ns * ceil(per_sm / fmax(1, held)),
                 life_ns = per_sm * (f->thin_f32_cta_ns + f->thin_f32_row_ns * few);
    /* More than this no SM multiplies: it limits on chips with fewer multiply-adds a second than the H200. */
    const double flops = 2 * few * 128 * ceil((double)problem->k / parts) * per_sm,
                 flops_ns = held > 0 ? flops / sm_rate(config, device, held) : 0;
    /* With up to four rows a tile, lanes have twice as many loads on their way. */
    const double reach = few > 4 ? f->thin_f32_reach : f->thin_reach;
    const double again = ceil((double)(has_few_rows ? problem->m : problem->n) / few) - 1;
    const double bytes = (double)tsr_dtype_bytes(problem->op.b) * (double)problem->k * large_lines *
                         (double)problem->batch * (1 + f->thin_f32_again_share * again);
    const double sums_ns = parts * few * 128 * sizeof(float) / f->thin_sums_bytes_per_ns;
    tsr_price_settle(config, problem, device,
                     f->thin_fill_ns + (parts > 1 ? fmax(f->thin_handover_ns, sums_ns) : 0) +
                         fmax(fmax(chain_ns, flops_ns) + life_ns, bytes / (reach * device->memory_bytes_per_s) * 1e9),
                     out);
}

/* The large operand is read once for each tile along the short side, from memory or, the second time, from L2. A CTA
 * takes a while whatever it has to do: measured on batches of small problems, perf/LOG. */
void tsr_price_thin(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                    const tsr_launch_config *launch, tsr_price *out)
{
    const tsr_profile *const f = tsr_profile_of(device);
    if (tsr_config_takes_unaligned(config)) {
        price_thin_mma(config, problem, device, launch, out);
        return;
    }
    if (problem->op.b == TSR_F32) {
        price_thin_f32(config, problem, device, launch, out);
        return;
    }
    const double fill_ns = f->thin_fill_ns, handover_ns = f->thin_handover_ns,
                 reach = f->thin_reach;                            /* of the memory's peak */
    const double cta_ns = f->thin_cta_ns, row_ns = f->thin_row_ns; /* of a CTA's life */
    const double step_ns = f->thin_step_ns,
                 step_row_ns = f->thin_step_row_ns; /* one row of B for each row of the tile: a chain of loads */
    const double k = (double)problem->k, sms = device->cuda.sm_count;
    const int has_few_rows = config->bm < config->bn; /* else few columns, and A is the large operand */
    const double few = has_few_rows ? config->bm : config->bn;
    const double lines = (double)(has_few_rows ? problem->m : problem->n),
                 large_lines = (double)(has_few_rows ? problem->n : problem->m);
    const int lies_along_k = has_few_rows ? config->b_layout == TSR_ONLY_T : config->a_layout == TSR_ONLY_N;
    const double parts = launch->schedule.split_k, ctas = tsr_cta_tiles(config, problem) * parts;
    const double steps = ceil(k / parts);
    const double per_sm = ceil(ctas / sms), held = fmin(per_sm, config->sm_ctas);
    const double flops = 2.0 * config->bm * config->bn * steps * per_sm;
    const double flops_ns = held > 0 ? flops / sm_rate(config, device, held) : 0; /* D may be empty */
    const int is_16 = tsr_dtype_bytes(problem->op.b) == 2;
    const double measured_lines = 16, unmeasured = 64;
    const double rows = is_16 ? 1 : few; /* whose multiply-adds show; measured so in 16 bits */
    const double chain_ns = steps * (step_ns + step_row_ns * rows) * ceil(per_sm / fmax(1, held));
    const double life_ns = per_sm * (cta_ns + row_ns * rows);
    /* In f64 what is read again comes from L2, since CTAs that read the same run together. */
    const double again = problem->op.b == TSR_F64 ? f->thin_f64_again_share : 1;
    const double bytes = (double)tsr_dtype_bytes(problem->op.b) * k * large_lines * (double)problem->batch *
                         (1 + again * (ceil(lines / few) - 1));
    /* Elements of 16 bits are loaded one by one, by an SM no faster from L2. Parts take longer than their loads, most
     * so with a large operand along K; why was not found. */
    const double loads_ns = is_16 ? bytes / (f->thin_16_bit_bytes_per_ns * sms) : 0;
    const double part_ns = lies_along_k ? f->thin_16_bit_transposed_part_ns : f->thin_16_bit_part_ns;
    const double parts_ns = is_16 ? part_ns * (parts - 1) : 0;
    const double sum_bytes = problem->op.d == TSR_F64 ? 8 : 4;
    const double sums_ns = parts * few * 128 * sum_bytes / f->thin_sums_bytes_per_ns; /* the last CTA reads them */
    const double bytes_ns = fmax(bytes / (reach * device->memory_bytes_per_s) * 1e9, loads_ns);
    tsr_price_settle(config, problem, device,
                     fill_ns + (parts > 1 ? fmax(handover_ns, sums_ns) : 0) + parts_ns +
                         fmax(fmax(chain_ns, life_ns), fmax(flops_ns, bytes_ns)),
                     out);
    if (is_16) { /* compared with Hopper's kernels, whose prices have the host's share beside the GPU's */
        out->gpu_ns = out->ns;
        out->launches = 1;
        out->ns = tsr_launched_ns(f, 1, out->gpu_ns) + tsr_slower_launch_ns(config, device);
        if (lines > measured_lines) /* not to be chosen before it is measured there */
            out->ns *= unmeasured;
    }
}
