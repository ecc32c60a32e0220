#include "lab/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "plan/pad.h"
#include "plan/plan.h"

/* Kernels of the device's kind: CUDA rows for GPUs and the emulator, CPU rows for the rest. */
static int suits(const tsr_row *row, const char *device)
{
    const int wants_cuda = strncmp(device, "cuda:", 5) == 0 || strcmp(device, "emu") == 0;
    return (row->kind == TSR_ROW_CUDA) == wants_cuda;
}

static int is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

/* 1 if the word picks the row. */
static int picks(const char *word, size_t length, const tsr_row *row)
{
    return is_word(word, length, "all") || is_word(word, length, row->name) || is_word(word, length, row->instance);
}

/* The names of the device's kernels, for messages. */
static void list_names(const char *device, char *out, size_t out_bytes)
{
    const char *last = "";
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *row = tsr_row_at(i);
        if (!suits(row, device) || strcmp(row->name, last) == 0)
            continue;
        const int added = snprintf(out + used, out_bytes - used, "%s%s", used > 0 ? ", " : "", row->name);
        if (added < 0 || (size_t)added >= out_bytes - used)
            return;
        used += (size_t)added;
        last = row->name;
    }
}

static tsr_status check_word(const char *word, size_t length, const char *device)
{
    int exists = 0;
    for (size_t i = 0; i < tsr_row_count(); i++)
        if (picks(word, length, tsr_row_at(i))) {
            exists = 1;
            if (suits(tsr_row_at(i), device))
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

static int any_word_picks(const char *names, const tsr_row *row)
{
    for (const char *word = names;;) {
        const size_t length = strcspn(word, ",");
        if (picks(word, length, row))
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
    out->items = calloc(tsr_row_count(), sizeof *out->items);
    if (out->items == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the list of kernels");
    for (size_t i = 0; i < tsr_row_count(); i++) {
        const tsr_row *row = tsr_row_at(i);
        if (!suits(row, device) || !any_word_picks(names, row))
            continue;
        lab_kernel *kernel = &out->items[out->count++];
        kernel->info.struct_bytes = sizeof kernel->info;
        status = tsr_kernel(i, &kernel->info);
        if (status != TSR_OK) {
            lab_kernels_free(out);
            return status;
        }
        kernel->row = row;
        kernel->bound_c = row->bound_c;
        kernel->bm = row->bm;
        kernel->bn = row->bn;
        kernel->bk = row->bk;
        for (int operand = 0; operand < 4; operand++) {
            const int padded = operand < 2 && tsr_pad_row(tsr_dtype_bytes(row->dtype_ab)) != NULL;
            kernel->align_elems[operand] = padded || row->align_elems <= 1 ? 1 : row->align_elems;
        }
    }
    return TSR_OK;
}

void lab_kernels_free(lab_kernel_list *list)
{
    free(list->items);
    memset(list, 0, sizeof *list);
}
