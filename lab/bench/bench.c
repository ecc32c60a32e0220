#include "lab/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "core/forms.h"
#include "core/op.h"
#include "lab/common/compress.h"
#include "lab/common/kernel_names.h"
#include "lab/common/operands.h"
#include "lab/common/stats.h"

#define OPERAND_ALIGN_BYTES 256
#define SEARCH_ROUNDS       5 /* to find the best of a peer's algorithms */

/* ---- the device ------------------------------------------------------------------------------------------------- */

/* What measures well: a contestant's share of a round, and the longest warm-up. */
static double round_ns(const lab_bench *bench)
{
    return bench->device.is_cuda ? 4e6 : 1e7;
}

static double warm_ns(const lab_bench *bench)
{
    return bench->device.is_cuda ? 5e8 : 2e8;
}

/* Longer than OpenBLAS's workers (2^26 cycles) and OpenMP's spin. */
static double pause_ns(const lab_bench *bench)
{
    return !bench->device.is_cuda && bench->threads > 1 && bench->peer_count > 0 ? 3e7 : 0.0;
}

static tsr_status open_parts(const char *name, int threads, lab_bench *bench)
{
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = threads};
    const tsr_status status = tsr_context_create(name, &options, &bench->context);
    if (status != TSR_OK)
        return status;
    lab_device_of(bench->context, &bench->device);
    return lab_timer_open(name, &bench->timer);
}

tsr_status lab_bench_open(const char *device, int threads, lab_bench *out)
{
    memset(out, 0, sizeof *out);
    if (strcmp(device, "emu") == 0)
        return tsr_fail(TSR_UNSUPPORTED, "device emu: the emulator's times say nothing about a GPU; measure on cpu or "
                                         "cuda:N");
    const tsr_status status = open_parts(device, threads, out);
    if (status != TSR_OK) {
        lab_bench_close(out);
        return status;
    }
    if (out->device.is_cuda) {
        snprintf(out->label, sizeof out->label, "%s", out->device.name);
        return TSR_OK;
    }
    out->threads = out->device.threads;
    snprintf(out->label, sizeof out->label, "%.70s, %d thread%s", out->device.name, out->threads,
             out->threads == 1 ? "" : "s");
    return TSR_OK;
}

tsr_status lab_bench_capture(lab_bench *bench)
{
    const size_t used = strlen(bench->label);
    if (!bench->timer.ops->record)
        return tsr_fail(TSR_UNSUPPORTED, "%s has no graphs to capture", bench->device.id);
    bench->captured = 1;
    snprintf(bench->label + used, sizeof bench->label - used, ", graph");
    return TSR_OK;
}

static const struct {
    unsigned flag;
    const char *word;
} label_words[] = {
    {TSR_BATCH_INVARIANT, ", batch-invariant"}, {TSR_SPARSE24_A, ", A 2:4"}, {TSR_SPARSE24_B, ", B 2:4"}};

void lab_bench_set_flags(lab_bench *bench, unsigned flags)
{
    bench->flags |= flags;
    for (size_t i = 0; i < sizeof label_words / sizeof label_words[0]; i++) {
        const size_t used = strlen(bench->label);
        if (flags & label_words[i].flag)
            snprintf(bench->label + used, sizeof bench->label - used, "%s", label_words[i].word);
    }
}

unsigned lab_label_flags(const char *label)
{
    unsigned flags = 0;
    for (size_t i = 0; i < sizeof label_words / sizeof label_words[0]; i++) {
        const char *const found = strstr(label, label_words[i].word);
        const char end = found ? found[strlen(label_words[i].word)] : '?';
        flags |= end == '\0' || end == ',' ? label_words[i].flag : 0;
    }
    return flags;
}

tsr_status lab_bench_set_epilogue(lab_bench *bench, const char *epilogue)
{
    const size_t used = strlen(bench->label);
    const tsr_epilogue form = tsr_form_of(epilogue);
    if (form == TSR_EPILOGUE_NONE)
        return tsr_fail(TSR_UNSUPPORTED, "epilogue \"%s\": there are \"%s\" and \"%s\"", epilogue,
                        tsr_form_text(TSR_EPILOGUE_BIAS), tsr_form_text(TSR_EPILOGUE_BIAS_RELU));
    bench->epilogue = epilogue;
    snprintf(bench->label + used, sizeof bench->label - used, ", %s", form == TSR_EPILOGUE_BIAS ? "bias" : "bias+relu");
    return TSR_OK;
}

void lab_bench_set_beta(lab_bench *bench, double beta)
{
    const size_t used = strlen(bench->label);
    bench->beta = beta;
    snprintf(bench->label + used, sizeof bench->label - used, ", beta %g", beta);
}

static void *stream_of(const lab_bench *bench)
{
    return bench->captured ? bench->timer.ops->stream(bench->timer.state) : NULL;
}

void lab_bench_close(lab_bench *bench)
{
    for (size_t i = 0; i < bench->peer_count; i++)
        bench->peers[i].ops->close(bench->peers[i].state);
    lab_timer_close(&bench->timer);
    tsr_context_destroy(bench->context);
    memset(bench, 0, sizeof *bench);
}

tsr_status lab_bench_add_peer(lab_bench *bench, const lab_peer_ops *ops)
{
    if (ops->is_cuda != bench->device.is_cuda)
        return tsr_fail(TSR_UNSUPPORTED, "%s does not run on %s", ops->name, bench->device.id);
    if (bench->peer_count == LAB_BENCH_PEERS_MAX)
        return tsr_fail(TSR_INVALID_ARGUMENT, "more than %d peers", LAB_BENCH_PEERS_MAX);
    const int ordinal = bench->device.is_cuda ? atoi(bench->device.id + strlen("cuda:")) : 0;
    lab_bench_peer *peer = &bench->peers[bench->peer_count];
    peer->ops = ops;
    const tsr_status status = ops->open(ordinal, bench->threads, &peer->state);
    if (status != TSR_OK)
        return status;
    ops->version(peer->state, peer->version, sizeof peer->version);
    bench->peer_count++;
    return TSR_OK;
}

/* ---- scales ----------------------------------------------------------------------------------------------------- */

static const char *const scales_words[] = {"none", "tensor", "vector", "1x128", "1x128:128x128"};

void lab_scales_put(lab_scales_given scales, tsr_gemm_desc *desc)
{
    static const tsr_scale_mode modes[] = {TSR_SCALE_TENSOR, TSR_SCALE_TENSOR, TSR_SCALE_VECTOR, TSR_SCALE_1X128,
                                           TSR_SCALE_1X128};
    desc->scale_mode_a = desc->scale_mode_b = modes[scales];
    if (scales == LAB_SCALES_1X128_128X128)
        desc->scale_mode_b = TSR_SCALE_128X128;
}

const char *lab_scales_word(lab_scales_given scales)
{
    return scales_words[scales];
}

int lab_scales_named(const char *word, lab_scales_given *out)
{
    for (int i = 0; i < (int)(sizeof scales_words / sizeof scales_words[0]); i++)
        if (strcmp(word[0] != '\0' ? word : "none", scales_words[i]) == 0) {
            *out = (lab_scales_given)i;
            return 1;
        }
    return 0;
}

tsr_status lab_scales_check(lab_scales_given scales, const lab_types *types)
{
    if (scales == LAB_SCALES_NONE)
        return TSR_OK;
    if (tsr_element_of(types->a)->scales == TSR_ONE_SCALE)
        return tsr_fail(TSR_UNSUPPORTED, "only operands of 8 bits have scales, not %s", tsr_dtype_name(types->a));
    if (scales >= LAB_SCALES_1X128 && tsr_element_of(types->a)->scales != TSR_BLOCK_SCALES)
        return tsr_fail(TSR_UNSUPPORTED, "only 8-bit floats have scales of blocks, not %s", tsr_dtype_name(types->a));
    if (scales >= LAB_SCALES_1X128 && types->compute == TSR_COMPUTE_FAST)
        return tsr_fail(TSR_UNSUPPORTED, "scales of blocks multiply sums that compute = fast leaves whole");
    if (lab_types_complete(types).d == TSR_S32)
        return tsr_fail(TSR_UNSUPPORTED, "a result in s32 takes no scales; D.dtype = f32, f16 or bf16");
    return TSR_OK;
}

/* ---- contestants ------------------------------------------------------------------------------------------------ */

/* A kernel that runs by its plan. */
typedef struct planned_call {
    tsr_context *context;
    tsr_plan *plan;
    tsr_prepared *prepared; /* A or B, as `compressed` says; NULL: they are the operands' */
    char compressed;
    void *workspace, *stream;
    size_t workspace_bytes;
    double alpha, beta;
} planned_call;

typedef struct rival_call {
    const lab_peer_ops *ops;
    void *problem, *stream;
    int choice;
    double alpha, beta;
} rival_call;

static tsr_status call_plan(void *user, const lab_operand_set *set)
{
    const planned_call *call = user;
    const int has_a = call->prepared && call->compressed == 'a', has_b = call->prepared && !has_a;
    tsr_run_args args = tsr_run_args_make(has_a ? NULL : set->a, has_b ? NULL : set->b, set->d);
    args.prepared_a = has_a ? call->prepared : NULL;
    args.prepared_b = has_b ? call->prepared : NULL;
    args.alpha.value = call->alpha;
    args.beta.value = call->beta;
    args.stream = call->stream;
    args.workspace = call->workspace;
    args.workspace_bytes = call->workspace_bytes;
    args.bias = set->bias;
    args.scale_a = set->scale_a;
    args.scale_b = set->scale_b;
    return tsr_plan_run(call->plan, &args);
}

static tsr_status call_rival(void *user, const lab_operand_set *set)
{
    const rival_call *call = user;
    tsr_run_args args = tsr_run_args_make(set->a, set->b, set->d);
    args.alpha.value = call->alpha;
    args.beta.value = call->beta;
    args.stream = call->stream;
    args.bias = set->bias;
    args.scale_a = set->scale_a;
    args.scale_b = set->scale_b;
    return call->ops->run(call->problem, call->choice, &args);
}

tsr_gemm_desc lab_cell_desc(const lab_bench *bench, const lab_cell *cell)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(cell->types.a, cell->shape.m, cell->shape.n, cell->shape.k);
    tsr_operand *const operands[4] = {&desc.a, &desc.b, &desc.c, &desc.d};
    lab_types_put(&cell->types, &desc);
    for (int i = 0; i < 4; i++) {
        operands[i]->memory = bench->device.is_cuda ? TSR_DEVICE : TSR_HOST;
        operands[i]->align_bytes = OPERAND_ALIGN_BYTES;
    }
    desc.flags = bench->flags;
    desc.epilogue = bench->epilogue;
    lab_scales_put(cell->scales, &desc);
    desc.a.trans = cell->trans_a ? TSR_T : TSR_N;
    desc.b.trans = cell->trans_b ? TSR_T : TSR_N;
    lab_shape_set_batch(cell->shape.batch, &desc);
    if (cell->call) {
        desc.a.ld = cell->call->lda;
        desc.b.ld = cell->call->ldb;
        desc.c.ld = desc.d.ld = cell->call->ldc;
        desc.batch_count = cell->call->batch;
        if (cell->call->batch > 1) {
            desc.a.batch_stride = cell->call->stride_a;
            desc.b.batch_stride = cell->call->stride_b;
            desc.c.batch_stride = desc.d.batch_stride = cell->call->stride_c;
            lab_shape_share_unstrided(&desc);
        }
    }
    return desc;
}

static double alpha_of(const lab_cell *cell)
{
    return cell->call ? cell->call->alpha : 1;
}

static double beta_of(const lab_bench *bench, const lab_cell *cell)
{
    return cell->call ? cell->call->beta : bench->beta;
}

static void plan_entry(const lab_bench *bench, const tsr_gemm_desc *cell_desc, lab_entry *entry, planned_call *call)
{
    tsr_gemm_desc desc = *cell_desc;
    const int is_sparse = entry->kernel != NULL && lab_kernel_is_sparse(entry->kernel);
    desc.kernel = entry->kernel;
    desc.flags |= is_sparse && !(desc.flags & TSR_SPARSE24_B) ? TSR_SPARSE24_A : 0;
    call->compressed = desc.flags & TSR_SPARSE24_B ? 'b' : 'a';
    call->context = bench->context;
    call->stream = stream_of(bench);
    tsr_status status =
        entry->reason[0] != '\0' ? TSR_UNSUPPORTED : tsr_plan_create(bench->context, &desc, &call->plan);
    if (status == TSR_OK)
        call->workspace_bytes = tsr_plan_workspace_bytes(call->plan);
    if (status == TSR_OK) {
        tsr_run_args unused = tsr_run_args_make(NULL, NULL, NULL);
        status = lab_compress(call->plan, &desc, &unused, &call->prepared);
    }
    if (call->workspace_bytes > 0)
        status = tsr_device_alloc(bench->context, call->workspace_bytes, &call->workspace);
    if (status == TSR_OK)
        snprintf(entry->instance, sizeof entry->instance, "%s%s", tsr_plan_kernel(call->plan),
                 entry->kernel != NULL && strchr(entry->kernel, '@') ? strchr(entry->kernel, '@') : "");
    else if (entry->reason[0] == '\0')
        snprintf(entry->reason, sizeof entry->reason, "%.199s", tsr_last_error());
}

static void drop_entry(planned_call *call)
{
    if (call->workspace != NULL)
        tsr_device_free(call->context, call->workspace);
    tsr_prepared_release(call->prepared);
    tsr_plan_release(call->plan);
}

/* Everything that one cell needs while it is measured. */
typedef struct work {
    planned_call *plans; /* one for each entry */
    rival_call first[LAB_BENCH_PEERS_MAX], best[LAB_BENCH_PEERS_MAX];
    lab_contestant *contestants; /* those that run */
    lab_contestant **owners;     /* where each one's results go */
    size_t count;
    lab_operands operands;
} work;

static void enter(work *w, lab_contestant *owner, lab_call *call, void *user)
{
    memset(owner, 0, sizeof *owner);
    w->owners[w->count] = owner;
    w->contestants[w->count] = (lab_contestant){.call = call, .user = user};
    w->count++;
}

static lab_measure_options measure_options(lab_bench *bench, const lab_bench_options *options)
{
    const lab_measure_options result = {.timer = &bench->timer,
                                        .stream = stream_of(bench),
                                        .captured = bench->captured,
                                        .rounds = options->rounds,
                                        .round_ns = round_ns(bench),
                                        .warm_ns = warm_ns(bench),
                                        .budget_ns = options->budget_s * 1e9,
                                        .pause_ns = pause_ns(bench),
                                        .stop = options->stop};
    return result;
}

/* The fastest of a peer's algorithms, by a short measurement of all. */
static tsr_status find_best(lab_bench *bench, const lab_bench_options *options, const work *w, const rival_call *first,
                            int choices, int *best)
{
    rival_call calls[LAB_PEER_CHOICES_MAX];
    lab_contestant contestants[LAB_PEER_CHOICES_MAX];
    lab_measure_options brief = measure_options(bench, options);
    double best_ns = (double)INFINITY;
    brief.rounds = SEARCH_ROUNDS;
    brief.round_ns /= 4.0;
    brief.warm_ns /= 10.0;
    brief.budget_ns /= 10.0;
    memset(contestants, 0, sizeof contestants);
    for (int i = 0; i < choices; i++) {
        calls[i] = *first;
        calls[i].choice = i;
        contestants[i].call = call_rival;
        contestants[i].user = &calls[i];
    }
    const tsr_status status = lab_measure(&brief, &w->operands, contestants, (size_t)choices);
    *best = 0;
    for (int i = 0; i < choices; i++) {
        const double ns = lab_median(contestants[i].round_ns, contestants[i].rounds);
        if (status == TSR_OK && contestants[i].status == TSR_OK && ns < best_ns) {
            best_ns = ns;
            *best = i;
        }
        lab_contestant_clear(&contestants[i]);
    }
    return status;
}

static tsr_status enter_rival(lab_bench *bench, const lab_bench_options *options, const lab_cell *cell,
                              const tsr_gemm_desc *desc, work *w, size_t index, lab_rival *rival)
{
    const lab_bench_peer *peer = &bench->peers[index];
    rival_call *first = &w->first[index], *best = &w->best[index];
    memset(rival, 0, sizeof *rival);
    rival->peer = peer;
    first->ops = peer->ops;
    first->stream = stream_of(bench);
    first->alpha = alpha_of(cell);
    first->beta = beta_of(bench, cell);
    if (desc->epilogue && !peer->ops->is_cuda) {
        snprintf(rival->reason, sizeof rival->reason, "it is not measured with an epilogue");
        return TSR_OK;
    }
    if (cell->scales != LAB_SCALES_NONE && peer->ops->prepare_scaled == NULL) {
        snprintf(rival->reason, sizeof rival->reason, "it is not measured with scales");
        return TSR_OK;
    }
    if ((cell->scales != LAB_SCALES_NONE ? peer->ops->prepare_scaled : peer->ops->prepare)(
            peer->state, desc, &first->problem, &rival->choices) != TSR_OK) {
        first->problem = NULL;
        snprintf(rival->reason, sizeof rival->reason, "%.199s", tsr_last_error());
        return TSR_OK;
    }
    enter(w, &rival->first, call_rival, first);
    if (rival->choices < 2)
        return TSR_OK;
    *best = *first;
    const tsr_status status = find_best(bench, options, w, first, rival->choices, &best->choice);
    rival->first_is_best = best->choice == 0;
    if (status == TSR_OK && !rival->first_is_best)
        enter(w, &rival->best, call_rival, best);
    return status;
}

/* Twice the last-level cache, or 0 where operands stay hot: on a CPU small problems usually meet warm operands. */
static int64_t cold_bytes(const lab_bench *bench, const tsr_gemm_desc *desc)
{
    const int64_t cache = lab_device_cache_bytes(&bench->device);
    const double set_bytes = lab_roofline_of(&bench->device, desc, 0).bytes;
    if (!bench->device.is_cuda && set_bytes < (double)cache / 4.0)
        return 0;
    return 2 * cache;
}

static tsr_status enter_all(lab_bench *bench, lab_cell *cell, const lab_bench_options *options, work *w)
{
    const tsr_gemm_desc desc = lab_cell_desc(bench, cell);
    for (size_t i = 0; i < cell->entry_count; i++) {
        lab_entry *entry = &cell->entries[i];
        memset(&entry->timing, 0, sizeof entry->timing);
        plan_entry(bench, &desc, entry, &w->plans[i]);
        w->plans[i].alpha = alpha_of(cell);
        w->plans[i].beta = beta_of(bench, cell);
        if (entry->instance[0] != '\0')
            enter(w, &entry->timing, call_plan, &w->plans[i]);
    }
    if (w->count == 0)
        return TSR_OK; /* nothing to compare a peer with */
    tsr_status status = (cell->scales != LAB_SCALES_NONE ? lab_operands_create_scaled : lab_operands_create)(
        bench->context, &desc, cold_bytes(bench, &desc), options->seed, &w->operands);
    cell->cold = w->operands.cold;
    for (size_t i = 0; i < bench->peer_count && status == TSR_OK; i++)
        status = enter_rival(bench, options, cell, &desc, w, i, &cell->rivals[cell->rival_count++]);
    return status;
}

static void take_reason(const lab_contestant *timing, char out[200])
{
    if (timing->status != TSR_OK)
        snprintf(out, 200, "%.199s", timing->message);
}

static void take_results(lab_cell *cell, work *w)
{
    for (size_t i = 0; i < w->count; i++)
        *w->owners[i] = w->contestants[i];
    for (size_t i = 0; i < cell->entry_count; i++)
        take_reason(&cell->entries[i].timing, cell->entries[i].reason);
    for (size_t i = 0; i < cell->rival_count; i++)
        take_reason(&cell->rivals[i].first, cell->rivals[i].reason);
}

static void clear_work(const lab_cell *cell, work *w)
{
    for (size_t i = 0; i < cell->entry_count && w->plans != NULL; i++)
        drop_entry(&w->plans[i]);
    for (size_t i = 0; i < LAB_BENCH_PEERS_MAX; i++)
        if (w->first[i].problem != NULL)
            w->first[i].ops->release(w->first[i].problem);
    lab_operands_free(&w->operands);
    free(w->plans);
    free(w->contestants);
    free(w->owners);
}

tsr_status lab_cell_measure(lab_bench *bench, lab_cell *cell, const lab_bench_options *options)
{
    const size_t room = cell->entry_count + 2 * LAB_BENCH_PEERS_MAX;
    work w;
    memset(&w, 0, sizeof w);
    cell->rival_count = 0;
    cell->cold = 0;
    w.plans = calloc(cell->entry_count + 1, sizeof *w.plans);
    w.contestants = calloc(room, sizeof *w.contestants);
    w.owners = calloc(room, sizeof *w.owners);
    tsr_status status = w.plans != NULL && w.contestants != NULL && w.owners != NULL
                            ? enter_all(bench, cell, options, &w)
                            : tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu contestants", room);
    if (status == TSR_OK && w.count > 0) {
        const lab_measure_options measure = measure_options(bench, options);
        status = lab_measure(&measure, &w.operands, w.contestants, w.count);
        take_results(cell, &w);
    }
    clear_work(cell, &w);
    return status;
}

void lab_cell_clear(lab_cell *cell)
{
    for (size_t i = 0; i < cell->entry_count; i++)
        lab_contestant_clear(&cell->entries[i].timing);
    for (size_t i = 0; i < cell->rival_count; i++) {
        lab_contestant_clear(&cell->rivals[i].first);
        lab_contestant_clear(&cell->rivals[i].best);
    }
    cell->rival_count = 0;
}
