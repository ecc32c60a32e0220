#include "lab/common/kernel_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "plan/pad.h"
#include "plan/plan.h"

/* Kernels of the device's kind: CUDA configs for GPUs and the emulator, CPU configs for the rest. */
static int suits(const tsr_config *config, const char *device)
{
    const int wants_cuda = strncmp(device, "cuda:", 5) == 0 || strcmp(device, "emu") == 0;
    return (config->kind == TSR_CONFIG_CUDA) == wants_cuda;
}

static int is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

/* 1 if the word picks the config. */
static int picks(const char *word, size_t length, const tsr_config *config)
{
    return is_word(word, length, "all") || is_word(word, length, config->name) ||
           is_word(word, length, config->instance);
}

/* The names of the device's kernels, for messages. */
static void list_names(const char *device, char *out, size_t out_bytes)
{
    const char *last = "";
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *config = tsr_config_at(i);
        if (!suits(config, device) || strcmp(config->name, last) == 0)
            continue;
        const int added = snprintf(out + used, out_bytes - used, "%s%s", used > 0 ? ", " : "", config->name);
        if (added < 0 || (size_t)added >= out_bytes - used)
            return;
        used += (size_t)added;
        last = config->name;
    }
}

static tsr_status check_word(const char *word, size_t length, const char *device)
{
    int exists = 0;
    for (size_t i = 0; i < tsr_config_count(); i++)
        if (picks(word, length, tsr_config_at(i))) {
            exists = 1;
            if (suits(tsr_config_at(i), device))
                return TSR_OK;
        }
    char names[256];
    list_names(device, names, sizeof names);
    const int shown = length < 64 ? (int)length : 64;
    return tsr_fail(TSR_INVALID_ARGUMENT, "kernel \"%.*s\": %s; this device has: %s", shown, word,
                    exists ? "does not run on this device" : "no such kernel", names[0] != '\0' ? names : "none");
}

/* Calls for each word of the list; stops at the first failure. */
static tsr_status check_words(const char *names, const char *device)
{
    for (const char *word = names;;) {
        const size_t length = strcspn(word, ",");
        const tsr_status status = check_word(word, length, device);
        if (status != TSR_OK || word[length] == '\0')
            return status;
        word += length + 1;
    }
}

static int any_word_picks(const char *names, const tsr_config *config)
{
    for (const char *word = names;;) {
        const size_t length = strcspn(word, ",");
        if (picks(word, length, config))
            return 1;
        if (word[length] == '\0')
            return 0;
        word += length + 1;
    }
}

tsr_status lab_kernels_select(const char *names, const char *device, lab_kernel_list *out)
{
    memset(out, 0, sizeof *out);
    tsr_status status = check_words(names, device);
    if (status != TSR_OK)
        return status;
    out->items = calloc(tsr_config_count(), sizeof *out->items);
    if (out->items == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the list of kernels");
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *config = tsr_config_at(i);
        if (!suits(config, device) || !any_word_picks(names, config))
            continue;
        lab_kernel *kernel = &out->items[out->count++];
        kernel->info.struct_bytes = sizeof kernel->info;
        status = tsr_kernel(i, &kernel->info);
        if (status != TSR_OK) {
            lab_kernels_free(out);
            return status;
        }
        kernel->config = config;
        kernel->asked = kernel->info.compute;
        kernel->bound_c = config->bound_c;
        kernel->bm = config->bm;
        kernel->bn = config->bn;
        kernel->bk = config->bk;
        for (int operand = 0; operand < 4; operand++) {
            const int is_any = operand < 2 ? tsr_pad_config(tsr_op_of(&config->op).a) != NULL : config->any_cd;
            kernel->align_elems[operand] = is_any || config->align_elems <= 1 ? 1 : config->align_elems;
        }
    }
    return TSR_OK;
}

void lab_kernels_free(lab_kernel_list *list)
{
    free(list->items);
    memset(list, 0, sizeof *list);
}

static const tsr_config *config_of(const char *instance)
{
    const tsr_config *config = NULL;
    for (size_t i = 0; (config = tsr_config_at(i)) != NULL; i++)
        if (strcmp(config->instance, instance) == 0)
            break;
    return config;
}

static int accepts(const tsr_config *config, const lab_types *types, unsigned sparse24, char *reason,
                   size_t reason_bytes)
{
    const lab_types all = lab_types_complete(types);
    const tsr_op op = {.a = all.a,
                       .b = all.b,
                       .c = all.d,
                       .d = all.d,
                       .sparse24 = sparse24,
                       .compute = all.compute == TSR_COMPUTE_DEFAULT ? tsr_dtype_compute(all.a) : all.compute};
    return tsr_op_accepts(&config->op, &op, reason, reason_bytes);
}

int lab_instance_takes(const char *instance, const lab_types *types)
{
    const tsr_config *config = config_of(instance);
    return config != NULL && accepts(config, types, 0, NULL, 0);
}

int lab_instance_takes_sparse(const char *instance, const lab_types *types, unsigned flag)
{
    const tsr_config *config = config_of(instance);
    return config != NULL && accepts(config, types, flag, NULL, 0);
}

int lab_instance_accepts(const char *instance, const lab_types *types)
{
    const tsr_config *config = config_of(instance);
    return config != NULL && accepts(config, types, lab_config_is_sparse(config) ? TSR_SPARSE24_A : 0, NULL, 0);
}

int lab_kernel_computes(const lab_kernel *kernel, tsr_dtype a, tsr_compute compute)
{
    const tsr_op_set *const set = &kernel->config->op;
    const tsr_dtype type = a != TSR_DTYPE_NONE ? a : tsr_op_of(set).a;
    const tsr_compute wanted = compute == TSR_COMPUTE_DEFAULT ? tsr_dtype_compute(type) : compute;
    return set->a & TSR_TYPE_BIT(type) && (compute == TSR_COMPUTE_COUNT || set->computes & TSR_COMPUTE_BIT(wanted));
}

static void add_reason(const char *reason, char *reasons, size_t bytes)
{
    const size_t used = strlen(reasons);
    if (strstr(reasons, reason) == NULL && used + strlen(reason) + 3 < bytes)
        snprintf(reasons + used, bytes - used, "%s%s", used > 0 ? "; " : "", reason);
}

int lab_kernel_accepts(const char *kernel, const char *device, const lab_types *types, char *reasons,
                       size_t reasons_bytes)
{
    return lab_kernel_accepts_sparse(kernel, device, types, 0, reasons, reasons_bytes);
}

int lab_kernel_accepts_sparse(const char *kernel, const char *device, const lab_types *types, unsigned flag,
                              char *reasons, size_t reasons_bytes)
{
    const tsr_config *config;
    int any_takes_a = 0;
    reasons[0] = '\0';
    for (size_t i = 0; (config = tsr_config_at(i)) != NULL; i++) {
        char reason[200];
        const int takes_a = (config->op.a & TSR_TYPE_BIT(types->a)) != 0;
        const unsigned sparse24 = flag || !lab_config_is_sparse(config) ? flag : TSR_SPARSE24_A;
        if (!suits(config, device) || !picks(kernel, strcspn(kernel, "@"), config))
            continue;
        if (accepts(config, types, sparse24, reason, sizeof reason))
            return 1;
        if (takes_a && !any_takes_a)
            reasons[0] = '\0'; /* what came before it is farther away */
        any_takes_a |= takes_a;
        if (takes_a || !any_takes_a)
            add_reason(reason, reasons, reasons_bytes);
    }
    return 0;
}

tsr_compute lab_kernel_compute(const char *kernel, const char *device, const lab_types *types)
{
    static const tsr_compute others[] = {TSR_COMPUTE_TF32, TSR_COMPUTE_FAST};
    char unused[200];
    if (types->compute != TSR_COMPUTE_DEFAULT || lab_kernel_accepts(kernel, device, types, unused, sizeof unused))
        return types->compute;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        lab_types other = *types;
        other.compute = others[i];
        if (lab_kernel_accepts(kernel, device, &other, unused, sizeof unused))
            return other.compute;
    }
    return TSR_COMPUTE_DEFAULT;
}

int lab_config_is_sparse(const tsr_config *config)
{
    return config->kind == TSR_CONFIG_CUDA && !(config->op.operands & TSR_TAKES_WHOLE);
}

int lab_kernel_is_sparse(const char *kernel)
{
    for (size_t i = 0; i < tsr_config_count(); i++)
        if (picks(kernel, strcspn(kernel, "@"), tsr_config_at(i)))
            return lab_config_is_sparse(tsr_config_at(i));
    return 0;
}
