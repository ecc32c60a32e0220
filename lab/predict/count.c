#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "core/added.h"
#include "core/device_code.h"
#include "core/error.h"
#include "lab/common/compress.h"
#include "lab/predict/count_cta.h"
#include "lab/predict/count_kinds.h"
#include "lab/predict/count_run.h"
#include "lab/predict/machine_code.h"
#include "lab/predict/occupancy.h"
#include "lab/predict/watched.h"
#include "plan/schedules.h"

enum { LAB_SM_CTAS = 32 }; /* that an SM holds at most */

/* One launch while it is counted. */
typedef struct counting {
    pthread_mutex_t lock;
    long long ctas;                 /* of the launch */
    const unsigned char *is_wanted; /* of each; NULL: all */
    const lab_cta_kinds *kinds;     /* NULL: all count alike */
    double tiles; /* that the clusters of a persistent grid go through in turn; 0: every CTA has one */
    int cluster;
    lab_counters sum;
    long long counted;
    double weight;                         /* of those that were counted */
    long long sm_first, sm_step, sm_count; /* CTAs that one SM holds at once: number of the first, and how far apart */
    lab_stream *streams[LAB_SM_CTAS];
    double sectors_squared, wavefronts_squared; /* sums over CTAs */
} counting;

const tsr_emu_code *lab_watched_find(const char *instance)
{
    for (const tsr_emu_code *code = lab_watched_codes; code->instance; code++)
        if (strcmp(code->instance, instance) == 0)
            return code;
    const tsr_added_kernel *const added = tsr_added();
    return added && strcmp(added->watched.instance, instance) == 0 ? &added->watched : NULL;
}

/* ---- the watcher ---- */

static int see_cta(void *user, long long cta)
{
    counting *c = user;
    pthread_mutex_lock(&c->lock);
    c->ctas = cta + 1 > c->ctas ? cta + 1 : c->ctas;
    pthread_mutex_unlock(&c->lock);
    return 0;
}

static int select_cta(void *user, long long cta)
{
    const counting *c = user;
    return !c->is_wanted || (cta < c->ctas && c->is_wanted[cta]);
}

/* Which of the CTAs of the one SM that is followed; -1: none of them. */
static long long place_on_sm(const counting *c, long long cta)
{
    const long long away = cta - c->sm_first;
    return away >= 0 && away % c->sm_step == 0 && away / c->sm_step < c->sm_count ? away / c->sm_step : -1;
}

static void *begin_cta(void *user, long long cta)
{
    const counting *c = user;
    lab_cta_count *count = calloc(1, sizeof *count);
    if (!count)
        return NULL;
    count->cta = cta;
    if (place_on_sm(c, cta) >= 0) {
        count->stream = calloc(1, sizeof *count->stream);
        if (!count->stream) {
            free(count);
            return NULL;
        }
        count->stream->cta = cta;
    }
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

/* Of all clusters' tiles, how many times the mean a cluster has: cluster q has the tiles q, q + clusters and so on. */
static double share_of_tiles(const counting *c, long long cta)
{
    const double clusters = floor((double)c->ctas / c->cluster);
    if (c->tiles <= 0)
        return 1;
    return ceil((c->tiles - floor((double)cta / c->cluster)) / clusters) * clusters / c->tiles;
}

static double larger(double x, double y)
{
    return x > y ? x : y;
}

static double wavefronts_of(const lab_counters *sum)
{
    return sum->shared_load.wavefronts + sum->shared_store.wavefronts + sum->copy_shared.wavefronts;
}

static void end_cta(void *user, void *state)
{
    counting *c = user;
    lab_cta_count *count = state;
    lab_cta_count_end(count);
    const double sectors = lab_counters_sectors(&count->sum), wavefronts = wavefronts_of(&count->sum);
    pthread_mutex_lock(&c->lock);
    const double weight = c->kinds ? lab_cta_kinds_weight(c->kinds, count->sum.store.bytes) : 1;
    lab_counters_add(&c->sum, &count->sum, weight);
    c->weight += c->kinds ? weight : share_of_tiles(c, count->cta);
    c->sum.most_cut_copies = larger(c->sum.most_cut_copies, count->sum.cut_copies);
    c->sum.most_store_branches = larger(c->sum.most_store_branches, count->sum.store_branches);
    c->counted += weight > 0;
    c->sectors_squared += sectors * sectors;
    c->wavefronts_squared += wavefronts * wavefronts;
    if (count->stream) {
        lab_stream **const place = &c->streams[place_on_sm(c, count->stream->cta)];
        lab_stream_free(*place);
        *place = count->stream;
    }
    pthread_mutex_unlock(&c->lock);
    free(count);
}

/* ---- samples ---- */

static int registers_of(const char *instance)
{
    const tsr_device_code *own = tsr_find_device_code(instance);
    const lab_machine_code *recorded = lab_machine_code_of(instance);
    return own ? own->registers : recorded ? recorded->registers : 0;
}

/* The CTAs that an SM holds at once in the middle of the launch, distributed to SMs in turn; about that is what
 * hardware does. */
static void choose_sm(counting *c, const lab_gpu_spec *gpu, const tsr_config *config)
{
    const lab_occupancy o = lab_occupancy_of(gpu, config->threads_x * config->threads_y, registers_of(config->instance),
                                             config->smem_bytes);
    const long long held = o.ctas < 1 ? 1 : o.ctas < LAB_SM_CTAS ? o.ctas : LAB_SM_CTAS;
    const long long wave = held * gpu->sms;
    c->sm_step = gpu->sms;
    c->sm_first = c->ctas / wave / 2 * wave;
    c->sm_count = (c->ctas - c->sm_first + gpu->sms - 1) / gpu->sms;
    c->sm_count = c->sm_count < held ? c->sm_count : held;
}

/* Those of one SM, and about `wanted` CTAs out of all: each the golden ratio of the launch after the one before, so
 * that no row or column of tiles is preferred. With clusters, whole ones. NULL when out of memory. */
static unsigned char *choose_sample(const counting *c, long long wanted, int cluster)
{
    const long long ctas = c->ctas;
    unsigned char *chosen = calloc((size_t)ctas, 1);
    const long long clusters = ctas / cluster;
    double at = 0.5;
    for (long long i = 0; chosen && i < c->sm_count; i++)
        memset(chosen + (c->sm_first + i * c->sm_step) / cluster * cluster, 1, (size_t)cluster);
    for (long long i = c->sm_count; chosen && i * cluster < wanted; i++) {
        long long first = (long long)(at * (double)clusters) * cluster;
        while (chosen[first])
            first = first + cluster < clusters * cluster ? first + cluster : 0;
        memset(chosen + first, 1, (size_t)cluster);
        at += 0.6180339887498949;
        at -= floor(at);
    }
    return chosen;
}

/* Standard error of a mean over `n` of `all` CTAs, relative to it. */
static double relative_error(double sum, double squares, long long n, long long all)
{
    if (n >= all || n < 2 || sum <= 0)
        return 0;
    const double mean = sum / (double)n, variance = (squares - sum * mean) / (double)(n - 1);
    const double left = 1 - (double)n / (double)all;
    return variance > 0 ? sqrt(variance / (double)n * left) / mean : 0;
}

/* ---- the launch ---- */

tsr_status lab_run_watched(tsr_plan *plan, const tsr_run_args *args, const tsr_emu_watcher *watcher)
{
    tsr_device *device = &plan->context->home->device;
    tsr_emu_watch_launches(device, watcher);
    const tsr_status status = tsr_plan_run(plan, args);
    tsr_emu_watch_launches(device, NULL);
    return status;
}

double lab_prepared_bytes(const tsr_planned *plan)
{
    double bytes = 0;
    for (int i = 0; i < 2; i++)
        if (plan->pads & (i == 0 ? TSR_PAD_A : TSR_PAD_B))
            bytes += 2 * (double)tsr_padded_bytes(&plan->padded_problem, i == 0 ? 'a' : 'b');
    return bytes;
}

static void describe(const tsr_plan *plan, const counting *c, lab_counters *out)
{
    const tsr_config *config = tsr_plan_main(&plan->planned)->config;
    const lab_machine_code *code = lab_machine_code_of(config->instance);
    *out = (lab_counters){.ctas = c->kinds ? c->kinds->ctas : c->ctas,
                          .threads = config->threads_x * config->threads_y,
                          .shared_bytes = config->smem_bytes,
                          .registers = registers_of(config->instance),
                          .counted_ctas = c->counted,
                          .sample_error =
                              relative_error(lab_counters_sectors(&c->sum), c->sectors_squared, c->counted, c->ctas)};
    const double wavefront_error = relative_error(wavefronts_of(&c->sum), c->wavefronts_squared, c->counted, c->ctas);
    out->sample_error = larger(out->sample_error, wavefront_error);
    out->sample_error = c->kinds ? 0 : out->sample_error; /* not known: one of each kind was counted */
    strncpy(out->instance, config->instance, sizeof out->instance - 1);
    lab_counters_add(out, &c->sum, (double)out->ctas / (c->weight > 0 ? c->weight : 1));
    out->most_cut_copies = c->sum.most_cut_copies;
    out->most_store_branches = c->sum.most_store_branches;
    out->prepared_bytes = lab_prepared_bytes(&plan->planned);
    out->has_machine_code = code != NULL;
    if (code)
        lab_machine_code_apply(code, out);
    out->flops = 2 * (out->fma_f32 + out->fma_f64) + out->tensor_flops;
}

static tsr_status run_l1(const counting *c, const lab_gpu_spec *gpu, lab_counters *out)
{
    const lab_occupancy o = lab_occupancy_of(gpu, out->threads, out->registers, out->shared_bytes);
    lab_stream *streams[LAB_SM_CTAS];
    lab_l1_result found;
    size_t count = 0;
    for (int i = 0; i < LAB_SM_CTAS; i++)
        if (c->streams[i])
            streams[count++] = c->streams[i];
    if (!lab_l1_run(streams, count, gpu->l1_bytes - o.shared_config_bytes, &found))
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a model of L1");
    const double loads = found.lookups - found.store_sectors;
    out->l1_hit_rate = found.lookups > 0 ? found.hits / found.lookups : 0;
    out->l1_load_miss_rate = loads > 0 ? found.load_misses / loads : 0;
    return TSR_OK;
}

/* CTAs of a cluster in the launch that makes the product. */
static int cluster_of(const tsr_plan *plan)
{
    const tsr_step *step = tsr_plan_main(&plan->planned);
    return step->launch.cluster > 0 ? step->launch.cluster : tsr_config_cluster(step->config);
}

/* Where the launch's CTAs are fewer than its tiles, and go through whole ones. */
static double tiles_of(const tsr_plan *plan)
{
    const tsr_config *config = tsr_plan_main(&plan->planned)->config;
    return config->persistent && tsr_plan_workspace_bytes(plan) == 0
               ? tsr_cluster_tiles(config, &plan->planned.padded_problem)
               : 0;
}

static tsr_status count_plan(tsr_plan *plan, const tsr_run_args *args, const lab_count_options *options,
                             const lab_cta_kinds *kinds, lab_counters *out)
{
    counting c = {.lock = PTHREAD_MUTEX_INITIALIZER, .sm_step = 1, .kinds = kinds};
    tsr_emu_watcher watcher = {.user = &c,
                               .code = lab_watched_find,
                               .select = see_cta, /* first only to learn how many CTAs there are */
                               .begin = begin_cta,
                               .event = see_event,
                               .barrier = see_barrier,
                               .end = end_cta};
    const int cluster = cluster_of(plan);
    tsr_status status = lab_run_watched(plan, args, &watcher);
    c.ctas += c.ctas ? cluster - 1 : 0; /* of a cluster, the first CTA was seen */
    c.cluster = cluster;
    c.tiles = tiles_of(plan);
    unsigned char *chosen = NULL;
    choose_sm(&c, options->gpu ? options->gpu : lab_gpu_spec_at(0), tsr_plan_main(&plan->planned)->config);
    if (status == TSR_OK && options->sample_ctas > 0 && options->sample_ctas < c.ctas &&
        tsr_plan_workspace_bytes(plan) == 0) {
        chosen = choose_sample(&c, options->sample_ctas, cluster);
        if (!chosen)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to choose CTAs");
    }
    c.is_wanted = chosen;
    watcher.select = select_cta;
    if (status == TSR_OK)
        status = lab_run_watched(plan, args, &watcher);
    free(chosen);
    c.counted *= cluster;
    c.weight *= cluster;
    if (status == TSR_OK) {
        describe(plan, &c, out);
        status = run_l1(&c, options->gpu ? options->gpu : lab_gpu_spec_at(0), out);
    }
    for (int i = 0; i < LAB_SM_CTAS; i++)
        lab_stream_free(c.streams[i]);
    return status;
}

tsr_status lab_count_caches(const tsr_gemm_desc *desc, const lab_count_options *options, lab_counters *counters)
{
    const double most = options->follow_products > 0 ? options->follow_products : 1.5e8;
    tsr_context *context = NULL;
    tsr_gemm_desc same = lab_aligned_desc(desc);
    same.kernel = counters->instance;
    tsr_status status = tsr_context_create("emu", NULL, &context);
    if (status == TSR_OK)
        status = lab_count_waves(context, &same, options->gpu ? options->gpu : lab_gpu_spec_at(0), most,
                                 options->seed + 1, counters);
    tsr_context_destroy(context);
    return status;
}

tsr_status lab_count_kinds(const tsr_gemm_desc *desc, const lab_count_options *options, const lab_cta_kinds *kinds,
                           lab_counters *out)
{
    tsr_context *context = NULL;
    tsr_plan *plan = NULL;
    tsr_prepared *compressed = NULL;
    lab_operands operands = {0};
    const tsr_gemm_desc aligned = lab_aligned_desc(desc);
    tsr_status status = tsr_context_create("emu", NULL, &context);
    if (status == TSR_OK)
        status = tsr_plan_create(context, &aligned, &plan);
    if (status == TSR_OK)
        status = lab_operands_create(context, &aligned, 0, options->seed + 1, &operands);
    if (status == TSR_OK) {
        tsr_run_args args = tsr_run_args_make(operands.sets[0].a, operands.sets[0].b, operands.sets[0].d);
        status = lab_compress(plan, &aligned, &args, &compressed);
        if (status == TSR_OK)
            status = count_plan(plan, &args, options, kinds, out);
    }
    const int is_alone = status == TSR_OK && tsr_plan_workspace_bytes(plan) == 0 && plan->planned.step_count == 1 &&
                         cluster_of(plan) == 1;
    tsr_prepared_release(compressed);
    lab_operands_free(&operands);
    tsr_plan_release(plan);
    tsr_context_destroy(context);
    if (is_alone && out->bulk_load.sectors == 0 && !options->is_quick)
        status = lab_count_caches(desc, options, out);
    return status;
}

tsr_status lab_count(const tsr_gemm_desc *desc, const lab_count_options *options, lab_counters *out)
{
    const lab_count_options all = {0};
    return lab_count_kinds(desc, options ? options : &all, NULL, out);
}
