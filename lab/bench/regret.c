#include "lab/bench/regret.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "lab/bench/bench.h"
#include "lab/common/kernel_names.h"
#include "lab/common/paper.h"
#include "lab/common/product_types.h"
#include "lab/common/shapes.h"

#define ALLOCATED_ALIGN_BYTES 256

const lab_gpu_spec *lab_regret_gpu(const lab_record *record)
{
    const lab_gpu_spec *gpu;
    for (size_t i = 0; (gpu = lab_gpu_spec_at(i)) != NULL; i++) {
        const char *name = gpu->driver_name != NULL ? gpu->driver_name : gpu->name;
        if (strncmp(record->device, name, strlen(name)) == 0)
            return gpu;
    }
    return NULL;
}

unsigned lab_regret_flags(const lab_record *record)
{
    const unsigned flags = lab_label_flags(record->device);
    return flags & TSR_SPARSE24 || !lab_kernel_is_sparse(record->kernel) ? flags : flags | TSR_SPARSE24_A;
}

static int is_same_problem(const lab_record *x, const lab_record *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k && x->batch == y->batch && strcmp(x->dtype, y->dtype) == 0 &&
           strcmp(x->layout, y->layout) == 0 && strcmp(x->scales, y->scales) == 0 &&
           strcmp(x->out_dtype, y->out_dtype) == 0 && strcmp(x->device, y->device) == 0 &&
           lab_regret_flags(x) == lab_regret_flags(y);
}

double lab_regret_ratio(const lab_regret_line *line)
{
    return line->chosen != NULL ? line->chosen->time_us / line->fastest->time_us : (double)NAN;
}

static tsr_status describe(const lab_record *record, tsr_gemm_desc *out)
{
    lab_types types;
    lab_scales_given scales;
    if (!lab_types_named(record->dtype, record->out_dtype, &types))
        return tsr_fail(TSR_INVALID_ARGUMENT, "dtype = \"%s\"%s%s: not known", record->dtype,
                        record->out_dtype[0] ? ", out_dtype = " : "", record->out_dtype);
    if (!lab_scales_named(record->scales, &scales))
        return tsr_fail(TSR_INVALID_ARGUMENT, "scales = \"%s\": not known", record->scales);
    *out = tsr_gemm_desc_make(types.a, record->m, record->n, record->k);
    lab_types_put(&types, out);
    lab_scales_put(scales, out);
    tsr_operand *const operands[4] = {&out->a, &out->b, &out->c, &out->d};
    for (int i = 0; i < 4; i++) {
        operands[i]->memory = TSR_DEVICE;
        operands[i]->align_bytes = ALLOCATED_ALIGN_BYTES;
    }
    out->flags = lab_regret_flags(record);
    lab_shape_set_batch(record->batch, out);
    out->a.trans = record->layout[0] == 't' ? TSR_T : TSR_N;
    out->b.trans = record->layout[1] == 't' ? TSR_T : TSR_N;
    return TSR_OK;
}

static tsr_status choose(const lab_record *record, const struct tsr_profile *profile, char out[64])
{
    tsr_gemm_desc desc;
    lab_candidates candidates = {NULL, 0};
    out[0] = '\0';
    tsr_status status = describe(record, &desc);
    if (status == TSR_OK)
        status = lab_route_on_paper(lab_regret_gpu(record), profile, &desc, &candidates);
    if (status == TSR_OK && candidates.count > 0 && candidates.items[0].applicable)
        snprintf(out, 64, "%.63s", candidates.items[0].kernel);
    lab_candidates_free(&candidates);
    return status;
}

/* Times were measured by the schedules that records name, or else those that the library's own constants select; those
 * of other schedules are not known. */
static int is_scheduled_as_measured(const lab_record *record, const struct tsr_profile *profile)
{
    const lab_gpu_spec *const gpu = lab_regret_gpu(record);
    tsr_gemm_desc desc;
    char now[TSR_SCHEDULE_TEXT_BYTES], then[TSR_SCHEDULE_TEXT_BYTES] = "";
    if ((profile == NULL && record->schedule[0] == '\0') || describe(record, &desc) != TSR_OK ||
        lab_schedule_on_paper(gpu, profile, &desc, record->kernel, now) != TSR_OK)
        return 1;
    if (record->schedule[0] == '\0' && lab_schedule_on_paper(gpu, NULL, &desc, record->kernel, then) != TSR_OK)
        return 1;
    return strcmp(now, record->schedule[0] != '\0' ? record->schedule : then) == 0;
}

/* Among the records from `first` on; a config that was measured twice counts with its faster time. */
static void find_rows(const lab_record *records, size_t count, size_t first, lab_regret_line *line)
{
    for (size_t i = first; i < count; i++) {
        const lab_record *r = &records[i];
        if (!is_same_problem(r, line->first) || !(r->time_us > 0))
            continue;
        line->rows++;
        if (line->fastest == NULL || r->time_us < line->fastest->time_us)
            line->fastest = r;
        if (strcmp(r->kernel, line->choice) == 0 && (line->chosen == NULL || r->time_us < line->chosen->time_us))
            line->chosen = r;
    }
}

static int is_first_of_its_problem(const lab_record *records, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_same_problem(&records[i], &records[index]))
            return 0;
    return 1;
}

tsr_status lab_regret_of(const lab_record *records, size_t count, const struct tsr_profile *profile, lab_regret *out)
{
    double logs = 0;
    memset(out, 0, sizeof *out);
    out->mean = out->worst = (double)NAN;
    out->lines = calloc(count + 1, sizeof *out->lines);
    if (out->lines == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu problems", count);
    for (size_t i = 0; i < count; i++) {
        if (lab_regret_gpu(&records[i]) == NULL || !is_first_of_its_problem(records, i))
            continue;
        lab_regret_line line = {.first = &records[i]};
        const tsr_status status = choose(line.first, profile, line.choice);
        if (status != TSR_OK)
            return status;
        find_rows(records, count, i, &line);
        if (line.chosen != NULL && !is_scheduled_as_measured(line.chosen, profile))
            line.chosen = NULL;
        if (line.rows < 2)
            continue;
        out->lines[out->count++] = line;
        const double ratio = lab_regret_ratio(&line);
        if (line.chosen == NULL)
            continue;
        out->judged++;
        logs += log(ratio);
        out->worst = isnan(out->worst) || ratio > out->worst ? ratio : out->worst;
    }
    if (out->judged > 0)
        out->mean = exp(logs / (double)out->judged);
    return TSR_OK;
}

void lab_regret_free(lab_regret *regret)
{
    free(regret->lines);
    memset(regret, 0, sizeof *regret);
}
