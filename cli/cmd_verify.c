/* tessera verify: every kernel against the reference, element by element. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api_error.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/types.h"
#include "lab/common/device_facts.h"
#include "lab/common/kernel_names.h"
#include "lab/common/parallel.h"
#include "lab/verify/verify.h"

typedef struct settings {
    const char *kernels, *device;
    cli_dtype_list dtypes; /* of A; none: all */
    tsr_compute compute;   /* TSR_COMPUTE_COUNT: not chosen */
    int quick, full, small, schedules, format;
    int64_t seed, every;
} settings;

#define AT(field) .offset = offsetof(settings, field)
static const cli_option options[] = {
    {.name = "--kernel",
     .value = "NAME[,NAME]|all",
     .help = "kernels, or instances of them (default all)",
     .parse = cli_parse_kernels_or_all,
     AT(kernels)},
    {.name = "--dtype",
     .value = "T[,T]",
     .help = "of the kernels, the instances that take an A of one of these types",
     .parse = cli_parse_dtypes,
     AT(dtypes)},
    {.name = "--compute",
     .value = CLI_COMPUTE_CHOICES,
     .help = "of the kernels, the instances of this arithmetic; default: that of their types",
     .parse = cli_parse_compute,
     AT(compute)},
    {.name = "--device",
     .value = "D",
     .help = "cpu, cuda:N or emu; auto runs CPU kernels on the CPU and CUDA kernels on the first GPU, or in the "
             "emulator where there is none (default auto)",
     .parse = cli_parse_device,
     AT(device)},
    {.name = "--quick", .help = "a pairwise cover of the cases (this is the default)", AT(quick)},
    {.name = "--full", .help = "more and larger cases", AT(full)},
    {.name = "--small",
     .help = "sizes of a few tiles only, as the emulator always takes; for tools under which kernels are slow",
     AT(small)},
    {.name = "--schedules",
     .help =
         "only cases that force a schedule, one of each kind that a kernel has; kernels that never partition K have "
         "none",
     AT(schedules)},
    {.name = "--every",
     .value = "N",
     .help = "each N-th case only (default 1)",
     .parse = cli_parse_int,
     AT(every),
     .min = 1,
     .max = 1000},
    {.name = "--seed",
     .value = "S",
     .help = "decides cases and numbers (default 1)",
     .parse = cli_parse_int,
     AT(seed),
     .max = INT64_MAX},
    {.name = "--format",
     .value = "table|json",
     .help = "json: one object a line (default table)",
     .parse = cli_parse_choice,
     AT(format)},
    {0}};

typedef struct session {
    const cli_command *self;
    const settings *set;
    const volatile sig_atomic_t *stop;
    cli_progress *progress;
    const char *device; /* the one at work */
    int name_width;
    int kernels, passed, unscheduled; /* the last count among both others */
    int64_t cases, forced, elements;
    int64_t index, of; /* of the kernels on all devices */
} session;

/* ---- output ---------------------------------------------------------------------------------------------------------
 */

static const char unscheduled[] = "the kernel never partitions K, so it has no schedules";

static int is_good(const lab_verify_result *result)
{
    return result->failed == 0 && (result->cases > 0 || result->unscheduled);
}

static void print_json(const session *s, const lab_verify_result *result)
{
    const lab_verify_worst *worst = &result->worst;
    cli_json json = cli_json_begin(stdout);
    cli_json_text(&json, "kernel", result->kernel.info.instance);
    cli_json_text(&json, "hash", result->kernel.info.hash);
    cli_json_text(&json, "nvcc", lab_nvcc());
    cli_json_text(&json, "device", s->device);
    cli_json_bool(&json, "passed", is_good(result));
    cli_json_int(&json, "planned", result->planned);
    cli_json_int(&json, "cases", result->cases);
    cli_json_int(&json, "forced_schedules", result->forced);
    cli_json_int(&json, "failed", result->failed);
    cli_json_int(&json, "refused", result->refused);
    cli_json_text(&json, "refusal", result->unscheduled ? unscheduled : result->refused ? result->refusal : NULL);
    cli_json_int(&json, "elements", result->elements);
    cli_json_number(&json, "worst_ratio", worst->ratio);
    cli_json_number(&json, "worst_c", result->worst_c);
    cli_json_number(&json, "bound_c", result->kernel.bound_c);
    cli_json_int(&json, "batch", worst->batch);
    cli_json_int(&json, "row", worst->row);
    cli_json_int(&json, "column", worst->column);
    cli_json_number(&json, "value", worst->value);
    cli_json_number(&json, "reference", worst->reference);
    cli_json_number(&json, "bound", worst->bound);
    cli_json_number(&json, "error", fabs(worst->value - worst->reference));
    cli_json_text(&json, "problem", worst->problem);
    cli_json_text(&json, "first_failure", result->failed ? result->first_failure : NULL);
    cli_json_end(&json);
}

/* The kernel's name: in the first column, or, where the terminal is too narrow, on a line of its own. */
static void print_name(const session *s, const char *name)
{
    enum { OTHER_COLUMNS = 66 };
    if (s->name_width + OTHER_COLUMNS <= cli_columns() || !cli_has_columns())
        printf("%-*s  ", s->name_width, name);
    else
        printf("%s\n  ", name);
}

static void print_head(const session *s)
{
    print_name(s, "kernel");
    printf("%-7s  %6s  %6s  %9s  %8s  %8s  %8s\n", "device", "cases", "failed", "elements", "of bound", "error",
           "relative");
}

/* The element that came nearest to its bound: error / bound, error, error / reference. */
static void print_worst(const lab_verify_worst *worst)
{
    const double error = fabs(worst->value - worst->reference);
    if (!(worst->ratio > 0)) {
        printf("%8s  %8s  %8s", "0", "0", "0");
        return;
    }
    printf("%8.3g  %8.2g  ", worst->ratio, error);
    if (worst->reference != 0 && isfinite(error))
        printf("%8.2g", error / fabs(worst->reference));
    else
        printf("%8s", "-");
}

static void print_row(const session *s, const lab_verify_result *result)
{
    print_name(s, result->kernel.info.instance);
    printf("%-7s  %6" PRId64 "  %6" PRId64 "  %9" PRId64 "  ", s->device, result->cases, result->failed,
           result->elements);
    if (result->unscheduled)
        printf("%8s  %8s  %8s", "-", "-", "-");
    else
        print_worst(&result->worst);
    puts(is_good(result) ? "" : "  FAILED");
}

/* "  label: text", wrapped. */
static void print_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void print_note(const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fputs("  ", stdout);
    cli_print_wrapped(stdout, text, 2, 4);
}

static void print_notes(const lab_verify_result *result)
{
    const lab_verify_worst *worst = &result->worst;
    if (result->failed) {
        print_note("first: %s", result->first_failure);
        print_note("worst at (%" PRId64 ", %" PRId64 "): value %.17g, reference %.17g, bound %.3g: %s", worst->row,
                   worst->column, worst->value, worst->reference, worst->bound, worst->problem);
    } else if (result->cases == 0) {
        print_note("no case applies: %s", result->unscheduled  ? unscheduled
                                          : result->refusal[0] ? result->refusal
                                                               : "the kernel has no such case");
    }
}

static void report(session *s, const lab_verify_result *result)
{
    s->kernels++;
    s->passed += is_good(result);
    s->unscheduled += result->unscheduled;
    s->cases += result->cases;
    s->forced += result->forced;
    s->elements += result->elements;
    cli_progress_clear(s->progress);
    if (s->set->format == CLI_FORMAT_JSON) {
        print_json(s, result);
    } else {
        print_row(s, result);
        print_notes(result);
    }
    fflush(stdout);
}

/* ---- work -----------------------------------------------------------------------------------------------------------
 */

/* What became of one kernel. */
typedef struct outcome {
    int is_done, failed;
    lab_verify_result result;
    char error[400]; /* where the checker itself failed */
} outcome;

/* The kernels of a device, verified by several CPU threads where the device is the emulator: then each kernel has a
 * context of its own with one thread. */
typedef struct batch {
    session *session;
    const lab_kernel_list *kernels;
    tsr_context *context; /* NULL: each kernel has its own */
    lab_verify_options options;
    pthread_mutex_t lock; /* of what follows, and of the session */
    outcome *outcomes;
    size_t reported;
    int code;
} batch;

static void on_case(void *user, const char *instance, int64_t done, int64_t of)
{
    batch *b = user;
    const session *s = b->session;
    pthread_mutex_lock(&b->lock);
    cli_progress_say(s->progress, "%s on %s, kernel %" PRId64 " of %" PRId64 ", case %" PRId64 " of %" PRId64, instance,
                     s->device, s->index + 1, s->of, done, of);
    pthread_mutex_unlock(&b->lock);
}

static tsr_status verify_one(const batch *b, const lab_kernel *kernel, lab_verify_result *result)
{
    const tsr_context_options alone = {.struct_bytes = sizeof alone, .threads = 1};
    tsr_context *own = NULL;
    if (b->context == NULL && tsr_context_create(b->session->device, &alone, &own) != TSR_OK)
        return TSR_INTERNAL;
    const tsr_status status = lab_verify(own != NULL ? own : b->context, kernel, &b->options, result);
    tsr_context_destroy(own);
    return status;
}

/* Reports what is done, in the order of the kernels. The lock is held. */
static void report_done(batch *b)
{
    session *s = b->session;
    for (; b->reported < b->kernels->count && b->outcomes[b->reported].is_done && b->code == CLI_OK; b->reported++) {
        const outcome *o = &b->outcomes[b->reported];
        if (o->failed) {
            cli_progress_clear(s->progress);
            b->code = cli_failure(s->self, "%s: %s", b->kernels->items[b->reported].info.instance, o->error);
        } else if (cli_interrupted() && o->result.cases + o->result.refused < o->result.planned &&
                   o->result.failed == 0) {
            b->code = CLI_FAILED; /* neither passed nor failed */
        } else {
            report(s, &o->result);
            s->index++;
        }
    }
}

static void verify_kernel(void *user, int64_t index)
{
    batch *b = user;
    outcome *o = &b->outcomes[index];
    pthread_mutex_lock(&b->lock);
    const int go_on = b->code == CLI_OK && !cli_interrupted();
    pthread_mutex_unlock(&b->lock);
    if (!go_on)
        return;
    o->failed = verify_one(b, &b->kernels->items[index], &o->result) != TSR_OK;
    if (o->failed)
        snprintf(o->error, sizeof o->error, "%s", tsr_last_error());
    pthread_mutex_lock(&b->lock);
    o->is_done = 1;
    report_done(b);
    pthread_mutex_unlock(&b->lock);
}

static int verify_device(session *s, const char *device, const lab_kernel_list *kernels)
{
    const int is_emulated = strcmp(device, "emu") == 0;
    s->device = device;
    if (kernels->count == 0)
        return CLI_OK;
    batch b = {.session = s,
               .kernels = kernels,
               .options = {.full = s->set->full,
                           .seed = (uint64_t)s->set->seed,
                           .small = s->set->small || is_emulated,
                           .only_schedules = s->set->schedules,
                           .every = (int)s->set->every,
                           .stop = s->stop,
                           .progress = on_case,
                           .progress_user = &b},
               .lock = PTHREAD_MUTEX_INITIALIZER,
               .outcomes = calloc(kernels->count, sizeof *b.outcomes),
               .code = CLI_OK};
    /* One kernel has the threads for itself. */
    const int at_once = is_emulated && kernels->count > 1;
    if (b.outcomes == NULL)
        return cli_failure(s->self, "no memory for %zu results", kernels->count);
    if (!at_once && tsr_context_create(device, NULL, &b.context) != TSR_OK)
        b.code = cli_api_failure(s->self);
    else
        lab_parallel((int64_t)kernels->count, at_once ? 0 : 1, verify_kernel, &b);
    tsr_context_destroy(b.context);
    free(b.outcomes);
    pthread_mutex_destroy(&b.lock);
    return b.code;
}

static void widen(session *s, const lab_kernel_list *kernels)
{
    s->of += (int64_t)kernels->count;
    for (size_t i = 0; i < kernels->count; i++) {
        const int width = (int)strlen(kernels->items[i].info.instance);
        s->name_width = width > s->name_width ? width : s->name_width;
    }
}

static void print_total(const session *s)
{
    char without[48] = "";
    if (s->unscheduled)
        snprintf(without, sizeof without, ", %d without schedules", s->unscheduled);
    putchar('\n');
    cli_print_wrapped(stdout,
                      cli_text((char[300]){0}, 300,
                               "%d of %d kernels passed%s, %" PRId64 " cases (%" PRId64
                               " with a forced schedule), %" PRId64 " elements, %s, seed %" PRId64,
                               s->passed - s->unscheduled, s->kernels - s->unscheduled, without, s->cases, s->forced,
                               s->elements, s->set->full ? "full" : "quick", s->set->seed),
                      0, 2);
}

static int verify(session *s, const char *const *devices, const lab_kernel_list *kernels, size_t count)
{
    int code = CLI_OK;
    for (size_t i = 0; i < count; i++)
        widen(s, &kernels[i]);
    if (s->of == 0)
        return s->set->dtypes.count || s->set->compute != TSR_COMPUTE_COUNT
                   ? cli_failure(s->self, "--dtype and --compute leave no kernel that runs on %s", s->set->device)
                   : cli_failure(s->self, "no kernel runs on %s", s->set->device);
    if (s->set->format == CLI_FORMAT_TABLE)
        print_head(s);
    for (size_t i = 0; i < count && code == CLI_OK && !cli_interrupted(); i++)
        code = verify_device(s, devices[i], &kernels[i]);
    cli_progress_end(s->progress);
    s->progress = NULL;
    if (s->set->format == CLI_FORMAT_TABLE)
        print_total(s);
    if (cli_interrupted())
        return cli_failure(s->self, "interrupted after %d of %" PRId64 " kernels", s->kernels, s->of);
    return code != CLI_OK ? code : s->passed == s->kernels ? CLI_OK : CLI_FAILED;
}

/* The devices that "auto" stands for here: how many. */
static size_t choose_devices(const cli_command *self, const char *asked, const char *out[2])
{
    lab_device device;
    out[0] = asked;
    if (strcmp(asked, "auto") != 0)
        return 1;
    out[0] = "cpu";
    out[1] = "cuda:0";
    if (lab_device_describe(out[1], &device) == TSR_OK)
        return 2;
    out[1] = "emu";
    if (lab_device_describe(out[1], &device) == TSR_OK)
        return 2;
    cli_failure(self, "CUDA kernels are left out: no GPU, and %s", tsr_last_error());
    return 1;
}

/* The kernels of each device: a name of the list need only be some device's. TSR_INVALID_ARGUMENT if one is nobody's.
 */
static tsr_status select_kernels(const char *names, const char *const *devices, size_t count, lab_kernel_list *out)
{
    char *theirs[2] = {calloc(strlen(names) + 2, 1), calloc(strlen(names) + 2, 1)};
    tsr_status status = theirs[0] && theirs[1] ? TSR_OK : TSR_OUT_OF_MEMORY;
    for (const char *word = names; status == TSR_OK && word != NULL;) {
        char name[CLI_NAME_MAX];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word, ","), word);
        status = TSR_INVALID_ARGUMENT;
        for (size_t i = 0; i < count; i++) {
            lab_kernel_list found;
            if (lab_kernels_select(name, devices[i], &found) != TSR_OK)
                continue;
            lab_kernels_free(&found);
            strcat(strcat(theirs[i], theirs[i][0] ? "," : ""), name);
            status = TSR_OK;
        }
        word = strchr(word, ',');
        word = word ? word + 1 : NULL;
    }
    for (size_t i = 0; i < count && status == TSR_OK; i++)
        if (theirs[i][0])
            status = lab_kernels_select(theirs[i], devices[i], &out[i]);
    free(theirs[0]);
    free(theirs[1]);
    return status;
}

/* 1 if --dtype and --compute leave the kernel in. */
static int is_asked(const settings *set, const lab_kernel *kernel)
{
    int takes = set->dtypes.count == 0 && lab_kernel_computes(kernel, TSR_DTYPE_NONE, set->compute);
    for (size_t i = 0; i < set->dtypes.count && !takes; i++)
        takes = lab_kernel_computes(kernel, set->dtypes.values[i], set->compute);
    return takes;
}

/* Kernels that stay are asked for the arithmetic of --compute, if it names one; bounds are those of their own. */
static void leave_out(const settings *set, lab_kernel_list *kernels)
{
    const int is_named = set->compute != TSR_COMPUTE_COUNT && set->compute != TSR_COMPUTE_DEFAULT;
    size_t kept = 0;
    for (size_t i = 0; i < kernels->count; i++)
        if (is_asked(set, &kernels->items[i])) {
            kernels->items[kept] = kernels->items[i];
            kernels->items[kept].asked = is_named ? set->compute : kernels->items[kept].asked;
            kept++;
        }
    kernels->count = kept;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings set = {.kernels = "all", .device = "auto", .seed = 1, .compute = TSR_COMPUTE_COUNT};
    int code = cli_read_args(self, argc, argv, &set);
    if (code != CLI_CONTINUE)
        return code;
    if (set.quick && set.full)
        return cli_usage_error(self, "--quick and --full exclude each other");
    const char *devices[2];
    lab_kernel_list kernels[2] = {{NULL, 0}, {NULL, 0}};
    const size_t count = choose_devices(self, set.device, devices);
    const tsr_status status = select_kernels(set.kernels, devices, count, kernels);
    session s = {.self = self, .set = &set, .name_width = (int)strlen("kernel")};
    if (status != TSR_OK) {
        code = status == TSR_OUT_OF_MEMORY ? cli_failure(self, "out of memory") : cli_api_failure(self);
    } else {
        s.stop = cli_interrupt_catch();
        s.progress = cli_progress_begin();
        for (size_t i = 0; i < count; i++)
            leave_out(&set, &kernels[i]);
        code = verify(&s, devices, kernels, count);
    }
    for (size_t i = 0; i < count; i++)
        lab_kernels_free(&kernels[i]);
    return code;
}

const cli_command cli_cmd_verify = {"verify",
                                    "check every kernel against a reference",
                                    "[options]",
                                    options,
                                    "Exit code 1 if any element of any case is beyond its bound, or if a kernel ran no "
                                    "case at all, but with --schedules and a kernel that has none. "
                                    "Error and relative error are those of the element that came nearest "
                                    "to its bound, or went furthest beyond; of bound is error / bound.",
                                    run};
