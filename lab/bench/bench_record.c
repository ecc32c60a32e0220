/* The line of results for one kernel in a cell. */
#include <math.h>
#include <stdio.h>

#include "lab/bench/bench.h"
#include "lab/common/stats.h"

static size_t common_rounds(const lab_contestant *a, const lab_contestant *b)
{
    return a->rounds < b->rounds ? a->rounds : b->rounds;
}

static void compare_with(const lab_contestant *ours, const lab_rival *rival, uint64_t seed, lab_record *record)
{
    snprintf(record->peer, sizeof record->peer, "%s", rival->peer->version);
    if (rival->first.rounds == 0)
        return;
    const lab_interval ratio =
        lab_ratio_of_medians(rival->first.round_ns, ours->round_ns, common_rounds(&rival->first, ours), seed);
    record->peer_time_us = lab_median(rival->first.round_ns, rival->first.rounds) * 1e-3;
    record->ratio = ratio.mid;
    record->ratio_lo = ratio.lo;
    record->ratio_hi = ratio.hi;
    if (rival->choices < 2)
        return;
    const lab_contestant *best = rival->first_is_best ? &rival->first : &rival->best;
    record->peer_best_time_us = lab_median(best->round_ns, best->rounds) * 1e-3;
    record->ratio_best = lab_ratio_of_medians(best->round_ns, ours->round_ns, common_rounds(best, ours), seed).mid;
}

lab_record lab_cell_record(const lab_bench *bench, const lab_cell *cell, const lab_entry *entry, const lab_rival *rival,
                           const lab_baseline *baseline, const lab_bench_options *options)
{
    static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
    const tsr_gemm_desc desc = lab_cell_desc(bench, cell);
    const lab_contestant *timing = &entry->timing;
    lab_record record = lab_record_make();
    snprintf(record.kernel, sizeof record.kernel, "%s", entry->instance);
    snprintf(record.device, sizeof record.device, "%s", bench->label);
    lab_types_name(&cell->types, record.dtype);
    snprintf(record.layout, sizeof record.layout, "%s", layouts[2 * !!cell->trans_a + !!cell->trans_b]);
    if (cell->scales != LAB_SCALES_NONE)
        snprintf(record.scales, sizeof record.scales, "%s", lab_scales_word(cell->scales));
    lab_types_out_name(&cell->types, record.out_dtype, sizeof record.out_dtype);
    record.m = cell->shape.m;
    record.n = cell->shape.n;
    record.k = cell->shape.k;
    record.batch = desc.batch_count;

    const double ns = lab_median(timing->round_ns, timing->rounds);
    const lab_roofline roofline = lab_roofline_of(&bench->device, &desc, bench->beta != 0);
    record.time_us = ns * 1e-3;
    record.time_us_min = lab_quantile(timing->round_ns, timing->rounds, 0.0) * 1e-3;
    record.spread = lab_spread(timing->round_ns, timing->rounds);
    record.gflops = roofline.flops / ns;
    record.gbps = roofline.bytes / ns;
    record.peak_pct = lab_peak_percent(&bench->device, &desc, ns);
    record.clock_mhz = timing->clocks.clock_mhz;
    record.power_w = timing->clocks.power_w;
    record.speedup = baseline->ns / ns;
    record.speedup_scaled = baseline->scaled;
    record.rounds = (int64_t)timing->rounds;
    snprintf(record.commit, sizeof record.commit, "%s", lab_commit());
    lab_date(record.date);
    if (timing->rounds < options->rounds)
        snprintf(record.note, sizeof record.note, "%zu round%s", timing->rounds, timing->rounds == 1 ? "" : "s");
    if (rival != NULL && rival->reason[0] == '\0')
        compare_with(timing, rival, options->seed, &record);
    return record;
}
