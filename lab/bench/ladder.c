#include "lab/bench/ladder.h"

#include <math.h>
#include <string.h>

static int same_group(const lab_record *a, const lab_record *b)
{
    return strcmp(a->dtype, b->dtype) == 0 && strcmp(a->layout, b->layout) == 0 && strcmp(a->scales, b->scales) == 0 &&
           strcmp(a->out_dtype, b->out_dtype) == 0;
}

int lab_ladder_is_new(const lab_record *records, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (same_group(&records[i], &records[index]))
            return 0;
    return 1;
}

/* Place in the kernel table, and what it says; 0 if there is no such instance. */
static int find_kernel(const char *instance, tsr_kernel_info *info)
{
    memset(info, 0, sizeof *info);
    info->struct_bytes = sizeof *info;
    for (size_t i = 0; tsr_kernel(i, info) == TSR_OK; i++)
        if (strcmp(info->instance, instance) == 0)
            return 1;
    return 0;
}

static size_t size_of(lab_ladder *l, const lab_record *record)
{
    for (size_t i = 0; i < l->size_count; i++)
        if (l->sizes[i].m == record->m && l->sizes[i].n == record->n && l->sizes[i].k == record->k &&
            l->sizes[i].batch == record->batch)
            return i;
    if (l->size_count == LAB_LADDER_SIZES)
        return LAB_LADDER_SIZES;
    l->sequential_us[l->size_count] = (double)NAN;
    l->sizes[l->size_count] = (lab_shape){record->m, record->n, record->k, record->batch};
    return l->size_count++;
}

static size_t rung_of(lab_ladder *l, const lab_record *record, const tsr_kernel_info *info)
{
    for (size_t i = 0; i < l->rung_count; i++)
        if (strcmp(l->rungs[i].kernel, info->name) == 0 && strcmp(l->rungs[i].device, record->device) == 0)
            return i;
    if (l->rung_count == LAB_LADDER_RUNGS)
        return LAB_LADDER_RUNGS;
    size_t number = 0;
    for (size_t i = 0; i < l->rung_count; i++) {
        if (strcmp(l->rungs[i].device, record->device) == 0) {
            number = l->rungs[i].device_number;
            break;
        }
        number = l->rungs[i].device_number >= number ? l->rungs[i].device_number + 1 : number;
    }
    l->rungs[l->rung_count] = (lab_rung){info->name, record->device, info->is_cuda, number};
    return l->rung_count++;
}

static void add(lab_ladder *l, const lab_record *record)
{
    tsr_kernel_info info;
    if (!find_kernel(record->kernel, &info) || !isfinite(record->time_us)) {
        l->left_out++;
        return;
    }
    const size_t size = size_of(l, record), rung = rung_of(l, record, &info);
    if (size == LAB_LADDER_SIZES || rung == LAB_LADDER_RUNGS) {
        l->left_out++;
        return;
    }
    const lab_record **cell = &l->cells[rung][size];
    const int is_same = *cell && strcmp((*cell)->kernel, record->kernel) == 0;
    /* Lines of one kernel differ by the peer: the first one stays, unless it has none. */
    if (!*cell || (is_same ? !isfinite((*cell)->ratio) : record->time_us < (*cell)->time_us))
        *cell = record;
    if (strcmp(info.name, "cpu-sequential") == 0) {
        l->sequential_us[size] = record->time_us;
        l->sequential_scaled[size] = 0;
    } else if (!isfinite(l->sequential_us[size]) && isfinite(record->speedup)) {
        l->sequential_us[size] = record->speedup * record->time_us;
        l->sequential_scaled[size] = record->speedup_scaled != 0;
    }
}

/* By device, then by where a kernel stands in the table; CPUs come first. */
static size_t order_of(const lab_rung *rung)
{
    tsr_kernel_info info;
    memset(&info, 0, sizeof info);
    info.struct_bytes = sizeof info;
    size_t i = 0;
    while (tsr_kernel(i, &info) == TSR_OK && strcmp(info.name, rung->kernel) != 0)
        i++;
    return i + rung->device_number * 10000 + (rung->is_cuda ? 10000000 : 0);
}

static void sort_rungs(lab_ladder *l)
{
    for (size_t i = 1; i < l->rung_count; i++)
        for (size_t j = i; j > 0 && order_of(&l->rungs[j]) < order_of(&l->rungs[j - 1]); j--) {
            const lab_record *cells[LAB_LADDER_SIZES];
            const lab_rung rung = l->rungs[j];
            l->rungs[j] = l->rungs[j - 1];
            l->rungs[j - 1] = rung;
            memcpy(cells, l->cells[j], sizeof cells);
            memcpy(l->cells[j], l->cells[j - 1], sizeof cells);
            memcpy(l->cells[j - 1], cells, sizeof cells);
        }
}

void lab_ladder_make(const lab_record *records, size_t count, size_t first, lab_ladder *out)
{
    memset(out, 0, sizeof *out);
    out->dtype = records[first].dtype;
    out->layout = records[first].layout;
    for (size_t i = first; i < count; i++)
        if (same_group(&records[first], &records[i]))
            add(out, &records[i]);
    sort_rungs(out);
}

/* ---- speedups --------------------------------------------------------------------------------------------------- */

static double time_of(const lab_ladder *l, size_t rung, size_t size)
{
    return l->cells[rung][size] ? l->cells[rung][size]->time_us : (double)NAN;
}

static double below_us(const lab_ladder *l, size_t rung, size_t size)
{
    for (size_t i = rung; i-- > 0;)
        if (l->cells[i][size] && strcmp(l->rungs[i].device, l->rungs[rung].device) == 0)
            return time_of(l, i, size);
    return (double)NAN;
}

static double naive_us(const lab_ladder *l, size_t rung, size_t size)
{
    for (size_t i = 0; i < l->rung_count; i++)
        if (strcmp(l->rungs[i].kernel, "naive") == 0 && strcmp(l->rungs[i].device, l->rungs[rung].device) == 0)
            return time_of(l, i, size);
    return (double)NAN;
}

double lab_ladder_speedup(const lab_ladder *ladder, size_t rung, size_t size, lab_ladder_over over)
{
    const lab_record *record = ladder->cells[rung][size];
    if (!record)
        return (double)NAN;
    switch (over) {
    case LAB_OVER_BELOW:
        return below_us(ladder, rung, size) / record->time_us;
    case LAB_OVER_NAIVE:
        return naive_us(ladder, rung, size) / record->time_us;
    case LAB_OVER_SEQUENTIAL:
        return ladder->sequential_us[size] / record->time_us;
    case LAB_OVER_PEER:
        return record->ratio;
    }
    return (double)NAN;
}

double lab_ladder_peak_gflops(const lab_ladder *ladder, const char *device)
{
    for (size_t r = 0; r < ladder->rung_count; r++)
        for (size_t s = 0; s < ladder->size_count; s++) {
            const lab_record *record = ladder->cells[r][s];
            if (record && strcmp(record->device, device) == 0 && record->peak_pct > 0)
                return record->gflops / record->peak_pct * 100.0;
        }
    return (double)NAN;
}

double lab_ladder_peer_gflops(const lab_ladder *ladder, const char *device, size_t size, const char **name)
{
    double best = (double)NAN;
    for (size_t r = 0; r < ladder->rung_count; r++) {
        const lab_record *record = ladder->cells[r][size];
        if (!record || strcmp(record->device, device) != 0 || !isfinite(record->ratio))
            continue;
        const double gflops = record->gflops / record->ratio; /* the same product in the peer's time */
        if (isfinite(best) && gflops <= best)
            continue;
        best = gflops;
        *name = record->peer;
    }
    return best;
}
