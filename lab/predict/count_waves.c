#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "api/context.h"
#include "core/error.h"
#include "lab/common/compress.h"
#include "lab/predict/count_cta.h"
#include "lab/predict/count_run.h"
#include "lab/predict/hierarchy.h"
#include "lab/predict/occupancy.h"

enum { K_STEP = 32, MOST_WAVES = 3 };
static const double most_sectors = 16e6;

/* The CTAs that are recorded: the first `count` of the launch. */
typedef struct recording {
    pthread_mutex_t lock;
    lab_stream **streams;
    long long count;
    int failed;
} recording;

static int is_recorded(void *user, long long cta)
{
    return cta < ((const recording *)user)->count;
}

static void *begin_cta(void *user, long long cta)
{
    (void)user;
    lab_cta_count *count = calloc(1, sizeof *count);
    if (!count)
        return NULL;
    count->cta = cta;
    count->stream = calloc(1, sizeof *count->stream);
    if (!count->stream) {
        free(count);
        return NULL;
    }
    count->stream->cta = cta;
    return count;
}

static void see_event(void *state, const tsr_watch_event *event)
{
    lab_cta_count_event(state, event);
}

static void see_barrier(void *state)
{
    lab_cta_count_barrier(state);
}

static void end_cta(void *user, void *state)
{
    recording *r = user;
    lab_cta_count *count = state;
    lab_stream *stream = count->stream;
    lab_cta_count_end(count);
    free(count);
    lab_stream_trim(stream);
    pthread_mutex_lock(&r->lock);
    lab_stream **const place = &r->streams[stream->cta];
    lab_stream_free(*place);
    *place = stream;
    pthread_mutex_unlock(&r->lock);
}

/* How much of K, and how many CTAs of the launch, are worth their time and memory: at least two waves, since what the
 * first one fetches the others find. */
static int choose(const lab_counters *c, const tsr_gemm_desc *desc, long long wave, double most_products, int64_t *k,
                  long long *ctas)
{
    /* Of the launch for one k: those that fill a tile at an edge, too. */
    const double products = (c->fma_f32 + c->fma_f64 + c->tensor_flops / 2) / (double)(desc->k > 0 ? desc->k : 1) + 1;
    *k = (int64_t)(most_products / products) / K_STEP * K_STEP;
    *k = *k < K_STEP ? K_STEP : *k;
    *k = *k < desc->k ? *k : desc->k;
    const double of_wave = (double)(c->ctas < wave ? c->ctas : wave) / (double)c->ctas; /* of the launch */
    const double loads = (c->load.sectors + c->copy.sectors) * (double)*k / (double)desc->k;
    const double sectors = (loads + c->store.sectors) * of_wave, cost = products * (double)*k * of_wave;
    long long waves = MOST_WAVES;
    if (sectors * (double)waves > most_sectors || cost * (double)waves > most_products)
        waves = MOST_WAVES - 1;
    *ctas = c->ctas < waves * wave ? c->ctas : waves * wave;
    return products * (double)*k * (double)*ctas / (double)c->ctas <= most_products;
}

/* Loads of a warp between two waits. */
static unsigned loads_at_once(const lab_counters *c)
{
    const int warps_of_cta = (c->threads + 31) / 32;
    const double warps = (double)c->ctas * warps_of_cta;
    return c->waits > 0 ? (unsigned)lround(c->load.requests / warps / (c->waits / (double)c->ctas)) : 0;
}

/* Of the later pieces of stores that the compiler split, which come right after each other, those that hit: all where
 * two warps share the SM's four schedulers. */
static double pieces_that_hit(const lab_counters *c, const lab_hierarchy_options *options)
{
    enum { ALONE = 2 };
    return options->warps <= ALONE ? 1
                                   : lab_parts_that_hit(lab_ctas_side_by_side(c->ctas, options->held, options->gpu));
}

static void report(const lab_hierarchy_result *found, const lab_hierarchy_options *options, lab_counters *out)
{
    const double along_k = 1 / options->share;
    const double waits = found->waits[LAB_WAIT_L1] + found->waits[LAB_WAIT_L2] + found->waits[LAB_WAIT_DRAM];
    out->dram_waits = waits > 0 ? found->waits[LAB_WAIT_DRAM] / waits : 0;
    out->l2_waits = waits > 0 ? found->waits[LAB_WAIT_L2] / waits : 0;
    const double loads = found->load_lookups * along_k, load_hits = found->load_hits * along_k;
    const double all = loads + found->store_lookups + out->split_store_sectors + out->copy_line_pairs;
    const double store_hits = found->store_hits + pieces_that_hit(out, options) * out->split_store_sectors;
    out->l1_hit_rate = all > 0 ? (load_hits + store_hits) / all : 0;
    const double split = found->l2_writes > 0 ? 1 + out->split_store_sectors / found->l2_writes : 1;
    out->l1_load_miss_rate = loads > 0 ? 1 - load_hits / loads : 0;
    out->l2 = (lab_l2_counters){.is_known = 1,
                                .reads = found->l2_reads * along_k,
                                .read_misses = found->l2_misses * along_k,
                                .home_reads = found->home_reads * along_k,
                                .home_misses = found->home_misses * along_k,
                                .writes = found->l2_writes * split,
                                .home_writes = found->home_writes * split,
                                .dram_reads = found->dram_reads * along_k,
                                .dram_writes = found->dram_writes * along_k};
}

static tsr_status run_short(tsr_plan *plan, const tsr_run_args *args, recording *r)
{
    const tsr_emu_watcher watcher = {.user = r,
                                     .code = lab_watched_find,
                                     .select = is_recorded,
                                     .begin = begin_cta,
                                     .event = see_event,
                                     .barrier = see_barrier,
                                     .end = end_cta};
    return lab_run_watched(plan, args, &watcher);
}

/* The same problem with a short K, rows as far apart as before. */
static tsr_gemm_desc shorten(const tsr_gemm_desc *desc, int64_t k)
{
    tsr_gemm_desc with = *desc;
    if (with.a.ld == 0)
        with.a.ld = desc->a.trans == TSR_T ? desc->m : desc->k;
    if (with.b.ld == 0)
        with.b.ld = desc->b.trans == TSR_T ? desc->k : desc->n;
    with.k = k;
    return with;
}

tsr_status lab_count_waves(tsr_context *context, const tsr_gemm_desc *desc, const lab_gpu_spec *gpu,
                           double most_products, unsigned long long seed, lab_counters *counters)
{
    const lab_occupancy o = lab_occupancy_of(gpu, counters->threads, counters->registers, counters->shared_bytes);
    const long long held = o.ctas > 0 ? o.ctas : 1;
    recording r = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int64_t k;
    if (!choose(counters, desc, held * gpu->sms, most_products, &k, &r.count))
        return TSR_OK;
    const tsr_gemm_desc with = shorten(desc, k);
    const lab_hierarchy_options options = {.gpu = gpu,
                                           .l1_bytes = gpu->l1_bytes - o.shared_config_bytes,
                                           .held = held,
                                           .ctas = counters->ctas,
                                           .warps = (unsigned)((counters->threads + 31) / 32),
                                           .at_once = loads_at_once(counters),
                                           .share = (double)k / (double)desc->k};
    lab_hierarchy_result found;
    tsr_plan *plan = NULL;
    tsr_prepared *compressed = NULL;
    lab_operands operands = {0};
    r.streams = calloc((size_t)r.count, sizeof *r.streams);
    tsr_status status = r.streams ? tsr_plan_create(context, &with, &plan)
                                  : tsr_fail(TSR_OUT_OF_MEMORY, "no memory to follow %lld CTAs", r.count);
    if (status == TSR_OK)
        status = lab_operands_create(context, &with, 0, seed, &operands);
    if (status == TSR_OK) {
        tsr_run_args args = tsr_run_args_make(operands.sets[0].a, operands.sets[0].b, operands.sets[0].d);
        status = lab_compress(plan, &with, &args, &compressed);
        if (status == TSR_OK)
            status = run_short(plan, &args, &r);
    }
    if (status == TSR_OK && !lab_hierarchy_run(r.streams, r.count, &options, &found))
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a model of the caches");
    if (status == TSR_OK)
        report(&found, &options, counters);
    for (long long i = 0; r.streams && i < r.count; i++)
        lab_stream_free(r.streams[i]);
    free(r.streams);
    tsr_prepared_release(compressed);
    lab_operands_free(&operands);
    tsr_plan_release(plan);
    return status;
}
