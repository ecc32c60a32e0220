/* tessera route: which kernel would run a problem, and why not the others. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/api_error.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/route_list.h"
#include "cli/types.h"
#include "lab/common/paper.h"
#include "lab/common/shapes.h"

typedef struct settings {
    int64_t m, n, k, batch;
    lab_types types;
    cli_layout layout;
    const char *device;
    const lab_gpu_spec *gpu; /* that `device` names, if it need not be here */
    int memory;              /* of the choices below: 0 host, 1 device; -1: not chosen */
    int format, all;
    int sparse;          /* of the choices below; -1: neither */
    int64_t align_bytes; /* 0: not chosen */
} settings;

static int parse_device(const cli_option *option, const char *text, void *to, cli_message *error)
{
    char names[200] = "";
    cli_message here;
    if (lab_gpu_spec_find(text) != NULL) {
        *(const char **)to = text;
        return 1;
    }
    if (cli_parse_device(option, text, to, &here))
        return 1;
    for (size_t i = 0; lab_gpu_spec_at(i) != NULL; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, ", %s", lab_gpu_spec_at(i)->id);
    }
    return cli_reject(error, "needs one of auto, cpu, emu, cuda:N%s, not '%s'", names, text);
}

#define AT(field) .offset = offsetof(settings, field)
static const cli_option options[] = {
    {.name = "M", .help = "rows of A and C", .parse = cli_parse_int, AT(m), .max = INT64_MAX},
    {.name = "N", .help = "columns of B and C", .parse = cli_parse_int, AT(n), .max = INT64_MAX},
    {.name = "K", .help = "columns of A, rows of B", .parse = cli_parse_int, AT(k), .max = INT64_MAX},
    CLI_TYPES_OPTIONS(settings, types, "element type (default f32)"),
    {.name = "--layout",
     .value = "nn|nt|tn|tt",
     .help = "t: A, or B, is stored transposed (default nn)",
     .parse = cli_parse_layout,
     AT(layout)},
    {.name = "--batch",
     .value = "N",
     .help = "so many problems, one after the other in memory (default 1)",
     .parse = cli_parse_int,
     AT(batch),
     .min = 1,
     .max = INT32_MAX},
    {.name = "--device",
     .value = "D",
     .help = "auto, cpu, cuda:N or emu, or one that need not be here: " LAB_GPU_LIST
             " (default $TESSERA_DEVICE, else auto)",
     .parse = parse_device,
     AT(device)},
    {.name = "--memory",
     .value = "host|device",
     .help = "where the operands lie; from host memory a GPU has to copy them (default host; device for a GPU that "
             "need not be here)",
     .parse = cli_parse_choice,
     AT(memory)},
    {.name = "--align",
     .value = "BYTES",
     .help = "what operands' addresses are multiples of (default 256 in device memory, as allocators give it; else the "
             "element)",
     .parse = cli_parse_int,
     AT(align_bytes),
     .min = 1,
     .max = 1 << 20},
    {.name = "--sparse",
     .once = 1,
     .value = "a|b",
     .help = "A, or B, is compressed 2:4",
     .parse = cli_parse_choice,
     AT(sparse)},
    {.name = "--all", .help = "each instance with its reason, and all that apply", AT(all)},
    {.name = "--format",
     .value = "table|json",
     .help = "json: one object a line, all of them (default table)",
     .parse = cli_parse_choice,
     AT(format)},
    {0}};

static tsr_gemm_desc describe(const settings *set)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(set->types.a, set->m, set->n, set->k);
    lab_types_put(&set->types, &desc);
    desc.a.trans = set->layout.a;
    desc.b.trans = set->layout.b;
    desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = set->memory ? TSR_DEVICE : TSR_HOST;
    desc.a.align_bytes = desc.b.align_bytes = desc.c.align_bytes = desc.d.align_bytes = (uint32_t)set->align_bytes;
    desc.flags |= set->sparse == 0 ? TSR_SPARSE24_A : set->sparse == 1 ? TSR_SPARSE24_B : 0;
    lab_shape_set_batch(set->batch, &desc);
    return desc;
}

static const char *layout_name(cli_layout layout)
{
    static const char *const names[] = {"nn", "nt", "tn", "tt"};
    return names[(layout.a == TSR_T) * 2 + (layout.b == TSR_T)];
}

static void print_json(const settings *set, const cli_route_list *list)
{
    char types[LAB_TYPES_TEXT];
    for (size_t i = 0; i < list->count; i++) {
        const tsr_candidate *candidate = &list->items[i];
        cli_json json = cli_json_begin(stdout);
        cli_json_text(&json, "kernel", candidate->kernel);
        cli_json_text(&json, "device", candidate->device);
        cli_json_text(&json, "dtype", lab_types_pair(&set->types, types));
        cli_json_text(&json, "layout", layout_name(set->layout));
        cli_json_int(&json, "m", set->m);
        cli_json_int(&json, "n", set->n);
        cli_json_int(&json, "k", set->k);
        cli_json_int(&json, "batch", set->batch);
        cli_json_bool(&json, "chosen", candidate->chosen);
        cli_json_bool(&json, "applicable", candidate->applicable);
        cli_json_text(&json, "reason", candidate->reason[0] ? candidate->reason : NULL);
        if (candidate->applicable) {
            cli_json_number(&json, "cost_ns", candidate->cost_ns);
            cli_json_number(&json, "bytes", candidate->bytes);
            cli_json_text(&json, "limiter", candidate->limiter);
            cli_json_text(&json, "schedule", candidate->schedule[0] ? candidate->schedule : NULL);
        } else {
            cli_json_null(&json, "cost_ns");
            cli_json_null(&json, "bytes");
            cli_json_null(&json, "limiter");
            cli_json_null(&json, "schedule");
        }
        cli_json_end(&json);
    }
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static int print_applicable(const settings *set, const cli_route_list *list)
{
    enum { FEW = 12 };
    static const char slices_begin[] = " in "; /* of a reason that names slices: told below, where there is room */
    const char *chosen_slices = NULL, *chosen_schedule = "";
    cli_table table;
    size_t told = 0, left = 0;
    cli_table_begin(&table, "llrrll", "applicable", "device", "expected", "traffic", "limited by", "");
    for (size_t i = 0; i < list->count; i++) {
        const tsr_candidate *candidate = &list->items[i];
        char time[32], bytes[32];
        if (!candidate->applicable)
            continue;
        if (told >= FEW && !set->all && !candidate->chosen) {
            left++;
            continue;
        }
        told++;
        const char *const slices = strstr(candidate->reason, slices_begin);
        const int length = slices ? (int)(slices - candidate->reason) : (int)strlen(candidate->reason);
        if (candidate->chosen)
            chosen_schedule = candidate->schedule;
        if (candidate->chosen && slices)
            chosen_slices = slices + strlen(slices_begin);
        cli_table_row(
            &table, length > 0 ? CLI_CELL("%s %.*s", candidate->kernel, length, candidate->reason) : candidate->kernel,
            candidate->device, cli_time_text(time, candidate->cost_ns), cli_bytes_text(bytes, candidate->bytes),
            candidate->limiter, candidate->chosen ? "<- chosen" : "");
    }
    if (table.rows > 1)
        putchar('\n');
    const int whole = cli_table_end(&table, stdout, 0);
    if (left > 0)
        printf("... %zu slower ones (--all lists them)\n", left);
    if (chosen_schedule[0] && strcmp(chosen_schedule, "whole") != 0)
        printf("chosen schedule: %s\n", chosen_schedule);
    if (chosen_slices)
        printf("chosen in %s%s: copies of whole operands exceed the workspace\n", chosen_slices,
               strstr(chosen_slices, " of K") ? "" : " of rows and columns");
    return whole;
}

/* The kernel of an instance, "tiled"; the instance itself if nobody knows it. */
static const char *kernel_of(const char *instance)
{
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    for (size_t i = 0; tsr_kernel(i, &info) == TSR_OK; i++)
        if (strcmp(info.instance, instance) == 0)
            return info.name;
    return instance;
}

/* Is the name one of the comma list's? */
static int is_listed(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = names; (at = strstr(at, name)) != NULL; at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
            return 1;
    return 0;
}

/* The rejected candidates with the reason of number `first`, as one row. */
static void put_reason(cli_table *table, const cli_route_list *list, size_t first)
{
    enum { NAMES = 1000 };
    char names[NAMES] = "";
    size_t count = 0;
    for (size_t i = first; i < list->count; i++) {
        if (list->items[i].applicable || strcmp(list->items[i].reason, list->items[first].reason) != 0)
            continue;
        count++;
        const char *name = kernel_of(list->items[i].kernel);
        const size_t used = strlen(names);
        if (!is_listed(names, name))
            snprintf(names + used, NAMES - used, "%s%s", used ? ", " : "", name);
    }
    cli_table_row(table, CLI_CELL("%zu", count), list->items[first].reason, names);
}

static int print_rejected(const settings *set, const cli_route_list *list)
{
    cli_table table;
    if (set->all)
        cli_table_begin(&table, "ll", "rejected", "reason");
    else
        cli_table_begin(&table, "rll", "rejected", "reason", "kernels");
    for (size_t i = 0; i < list->count; i++) {
        int is_first = !list->items[i].applicable;
        for (size_t j = 0; j < i && is_first && !set->all; j++)
            is_first = list->items[j].applicable || strcmp(list->items[j].reason, list->items[i].reason) != 0;
        if (is_first && set->all)
            cli_table_row(&table, list->items[i].kernel, list->items[i].reason);
        else if (is_first)
            put_reason(&table, list, i);
    }
    if (table.rows > 1)
        putchar('\n');
    return cli_table_end(&table, stdout, 0);
}

static int print_table(const settings *set, const cli_route_list *list)
{
    char types[LAB_TYPES_TEXT];
    printf("%" PRId64 " x %" PRId64 " x %" PRId64 " %s %s", set->m, set->n, set->k, lab_types_pair(&set->types, types),
           layout_name(set->layout));
    if (set->batch > 1)
        printf(", %" PRId64 " of them,", set->batch);
    printf(" on %s, operands in %s memory\n", set->device, set->memory ? "device" : "host");
    const int is_whole = print_applicable(set, list);
    return print_rejected(set, list) && is_whole;
}

static int show(const cli_command *self, const settings *set, cli_route_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        cli_message reason;
        cli_name_options(self, list->items[i].reason, &reason);
        snprintf(list->items[i].reason, sizeof list->items[i].reason, "%.*s", (int)sizeof list->items[i].reason - 1,
                 reason.text);
    }
    if (set->format == CLI_FORMAT_JSON)
        print_json(set, list);
    else if (!print_table(set, list))
        return cli_failure(self, "out of memory");
    return list->count > 0 && list->items[0].applicable ? CLI_OK : cli_failure(self, "no kernel applies");
}

static int route_here(const cli_command *self, const settings *set)
{
    tsr_context *context;
    cli_route_list list = {NULL, 0};
    const tsr_gemm_desc desc = describe(set);
    if (tsr_context_create(set->device, NULL, &context) != TSR_OK)
        return cli_api_failure(self);
    const int code = cli_route(context, &desc, &list) == TSR_OK ? show(self, set, &list) : cli_api_failure(self);
    cli_route_free(&list);
    tsr_context_destroy(context);
    return code;
}

static int route_on_paper(const cli_command *self, const settings *set)
{
    lab_candidates candidates;
    const tsr_gemm_desc desc = describe(set);
    const int code = lab_route_on_paper(set->gpu, NULL, &desc, &candidates) == TSR_OK
                         ? show(self, set, &(cli_route_list){candidates.items, candidates.count})
                         : cli_api_failure(self);
    lab_candidates_free(&candidates);
    return code;
}

static int run(const cli_command *self, int argc, char **argv)
{
    enum { ALLOCATED_ALIGN_BYTES = 256 };
    settings set = {.batch = 1, .types = {.a = TSR_F32}, .memory = -1, .sparse = -1};
    int code = cli_read_args(self, argc, argv, &set);
    if (code == CLI_CONTINUE)
        code = cli_types_check(self, &set.types);
    if (code == CLI_CONTINUE)
        code = cli_default_device(self, &set.device);
    if (code != CLI_CONTINUE)
        return code;
    set.gpu = lab_gpu_spec_find(set.device);
    if (set.gpu != NULL && set.memory == 0)
        return cli_usage_error(self, "--memory host: the link to a GPU that is not here is not known");
    if (set.memory < 0)
        set.memory = set.gpu != NULL;
    if (set.align_bytes == 0 && set.memory != 0)
        set.align_bytes = ALLOCATED_ALIGN_BYTES;
    return set.gpu != NULL ? route_on_paper(self, &set) : route_here(self, &set);
}

const cli_command cli_cmd_route = {"route",
                                   "which kernel a problem gets, and why not the others",
                                   "M N K [options]",
                                   options,
                                   "The expected times come from a cost model, not from a measurement; tessera bench "
                                   "measures.",
                                   run};
