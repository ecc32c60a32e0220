/* Devices, peers and kernels of `tessera bench`. */
#include <stdlib.h>
#include <string.h>

#include "cli/api_error.h"
#include "cli/bench.h"
#include "lab/common/kernel_names.h"

static int open_device(const cli_bench_session *session, const char *device, cli_bench_devices *out)
{
    lab_bench *bench = &out->items[out->count];
    if (lab_bench_open(device, (int)session->set->threads, bench) != TSR_OK)
        return 0;
    out->count++;
    return !session->set->graph || !bench->device.is_cuda || lab_bench_capture(bench) == TSR_OK;
}

/* A peer that is not there is news, not a failure; none where nobody asked for it by name. */
static void add_peers(const cli_bench_session *session, unsigned peers, cli_bench_devices *devices)
{
    const lab_peer_ops *ops;
    for (size_t p = 0; (ops = lab_peer_at(p)) != NULL; p++) {
        if ((peers >> p & 1) == 0)
            continue;
        int fits = 0;
        for (size_t d = 0; d < devices->count; d++) {
            lab_bench *bench = &devices->items[d];
            if (ops->is_cuda != bench->device.is_cuda)
                continue;
            fits = 1;
            if (lab_bench_add_peer(bench, ops) != TSR_OK && session->set->peers)
                cli_failure(session->self, "without %s: %s", ops->name, tsr_last_error());
        }
        if (!fits && session->set->peers)
            cli_failure(session->self, "without %s: it runs on %s, which is not measured here", ops->name,
                        ops->is_cuda ? "GPUs" : "the CPU");
    }
}

/* 1 if one of the libraries runs on GPUs, or, of is_cuda 0, on the CPU. */
static int peers_of_kind(unsigned peers, int is_cuda)
{
    const lab_peer_ops *ops;
    for (size_t p = 0; (ops = lab_peer_at(p)) != NULL; p++)
        if (peers >> p & 1 && ops->is_cuda == is_cuda)
            return 1;
    return 0;
}

/* The devices of "auto": the CPU and the first GPU, or the one that all named libraries run on. No GPU is no failure.
 */
static int open_auto(const cli_bench_session *session, cli_bench_devices *out)
{
    const int on_gpu = peers_of_kind(session->set->peers, 1), on_cpu = peers_of_kind(session->set->peers, 0);
    if (on_gpu && !on_cpu)
        return open_device(session, "cuda:0", out) || open_device(session, "cpu", out);
    if (!open_device(session, "cpu", out))
        return 0;
    if (on_gpu == on_cpu)
        open_device(session, "cuda:0", out);
    return 1;
}

int cli_bench_open(const cli_bench_session *session, unsigned peers, cli_bench_devices *out)
{
    const char *device = session->set->device;
    memset(out, 0, sizeof *out);
    if (!(strcmp(device, "auto") == 0 ? open_auto(session, out) : open_device(session, device, out)))
        return cli_api_failure(session->self);
    for (size_t i = 0; i < out->count && session->set->batch_invariant; i++)
        lab_bench_set_flags(&out->items[i], TSR_BATCH_INVARIANT);
    for (size_t i = 0; i < out->count && cli_bench_sparse(session->set); i++)
        lab_bench_set_flags(&out->items[i], cli_bench_sparse(session->set));
    for (size_t i = 0; i < out->count && session->set->epilogue; i++)
        if (lab_bench_set_epilogue(&out->items[i], session->set->epilogue) != TSR_OK)
            return cli_api_failure(session->self);
    for (size_t i = 0; i < out->count && session->set->beta != 0; i++)
        lab_bench_set_beta(&out->items[i], session->set->beta);
    if (session->set->graph && !out->items[out->count - 1].device.is_cuda)
        return cli_failure(session->self, "--graph: no GPU is measured here");
    add_peers(session, peers, out);
    return CLI_CONTINUE;
}

void cli_bench_close(cli_bench_devices *devices)
{
    for (size_t i = 0; i < devices->count; i++)
        lab_bench_close(&devices->items[i]);
    devices->count = 0;
}

static int has_entry(const cli_bench_entries *entries, const char *kernel)
{
    for (size_t i = 0; i < entries->count; i++)
        if (entries->items[i].kernel != NULL && strcmp(entries->items[i].kernel, kernel) == 0)
            return 1;
    return 0;
}

/* By its instance where that was asked for or all are to be listed, else by its name once. */
static void add_kernel(const lab_kernel *kernel, int by_instance, cli_bench_entries *out)
{
    const char *name = by_instance ? kernel->info.instance : kernel->info.name;
    if (has_entry(out, name))
        return;
    lab_entry *entry = &out->items[out->count++];
    memset(entry, 0, sizeof *entry);
    entry->kernel = name;
}

unsigned cli_bench_sparse(const cli_bench_settings *set)
{
    return set->sparse == 0 ? TSR_SPARSE24_A : set->sparse == 1 ? TSR_SPARSE24_B : 0;
}

/* Kernels of a compressed operand have another product to make: without --sparse they come where they are asked for by
 * name. */
static int takes(const char *asked, const char *instance, const lab_types *types, unsigned sparse)
{
    if (sparse)
        return lab_instance_takes_sparse(instance, types, sparse);
    return strcmp(asked, "all") == 0 ? lab_instance_takes(instance, types) : lab_instance_accepts(instance, types);
}

lab_types cli_bench_types(const cli_bench_settings *set, tsr_dtype dtype)
{
    lab_types types = set->types;
    types.a = dtype;
    return types;
}

int cli_bench_choose(const cli_bench_settings *set, const lab_bench *bench, const lab_types *types,
                     cli_bench_entries *out)
{
    size_t room = 1 + set->kernels.count;
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    for (size_t i = 0; tsr_kernel(i, &info) == TSR_OK; i++)
        room++;
    out->count = 0;
    out->items = calloc(room, sizeof *out->items);
    if (out->items == NULL)
        return 0;
    for (size_t n = 0; n < set->kernels.count; n++) {
        const char *asked = set->kernels.values[n];
        lab_kernel_list list;
        if (strcmp(asked, "auto") == 0) {
            out->count++; /* kernel NULL: the library chooses */
            continue;
        }
        if (strchr(asked, '@')) { /* the library says what is wrong with the schedule there */
            char unused[200];
            if (lab_kernel_accepts_sparse(asked, bench->device.id, types, cli_bench_sparse(set), unused, sizeof unused))
                out->items[out->count++].kernel = asked;
            continue;
        }
        if (lab_kernels_select(asked, bench->device.id, &list) != TSR_OK)
            continue; /* of another kind of device */
        for (size_t i = 0; i < list.count; i++)
            if (takes(asked, list.items[i].info.instance, types, cli_bench_sparse(set)))
                add_kernel(&list.items[i], set->instances || strcmp(asked, list.items[i].info.instance) == 0, out);
        lab_kernels_free(&list);
    }
    return 1;
}

int cli_bench_has_kernels(const cli_bench_session *session, const cli_bench_devices *devices, tsr_dtype dtype,
                          unsigned told[CLI_LIST_MAX])
{
    const cli_bench_settings *set = session->set;
    const lab_types types = cli_bench_types(set, dtype);
    char name[LAB_TYPES_TEXT];
    int any = 0;
    for (size_t n = 0; n < set->kernels.count; n++) {
        const char *asked = set->kernels.values[n];
        char reasons[400] = "";
        int runs = strcmp(asked, "all") == 0 || strcmp(asked, "auto") == 0;
        for (size_t d = 0; d < devices->count && !runs; d++) {
            char these[sizeof reasons];
            runs = lab_kernel_accepts_sparse(asked, devices->items[d].device.id, &types, cli_bench_sparse(set), these,
                                             sizeof these);
            if (these[0] != '\0')
                memcpy(reasons, these, sizeof reasons);
        }
        any |= runs;
        if (runs || told[n] >> (int)dtype & 1)
            continue;
        told[n] |= reasons[0] != '\0' ? 1u << (int)dtype : ~0u;
        cli_progress_clear(session->progress);
        if (reasons[0] != '\0')
            cli_failure(session->self, "without --kernel %s for --dtype %s: it %s", asked, lab_types_pair(&types, name),
                        reasons);
        else
            cli_failure(session->self, "without --kernel %s: it does not run on %s", asked,
                        devices->items[0].device.id);
    }
    return any;
}

void cli_bench_entries_free(cli_bench_entries *entries)
{
    free(entries->items);
    entries->items = NULL;
    entries->count = 0;
}
