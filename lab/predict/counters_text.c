#include "lab/predict/counters_text.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum field_kind { FIELD_DOUBLE, FIELD_INT, FIELD_LONG } field_kind;

typedef struct field {
    const char *name;
    size_t offset;
    field_kind kind;
} field;

#define AT(name, kind)                            \
    {                                             \
#name, offsetof(lab_counters, name), kind \
    }
#define NUMBER(name)  AT(name, FIELD_DOUBLE)
#define TRAFFIC(name) NUMBER(name.requests), NUMBER(name.lines), NUMBER(name.sectors), NUMBER(name.bytes)
#define SHARED(name)  NUMBER(name.requests), NUMBER(name.wavefronts), NUMBER(name.conflicts), NUMBER(name.bytes)

static const field fields[] = {
    AT(ctas, FIELD_LONG),
    AT(counted_ctas, FIELD_LONG),
    NUMBER(sample_error),
    AT(threads, FIELD_INT),
    AT(shared_bytes, FIELD_INT),
    AT(registers, FIELD_INT),
    NUMBER(fma_f32),
    NUMBER(fma_f64),
    NUMBER(warp_fma),
    NUMBER(tensor_flops),
    NUMBER(flops),
    TRAFFIC(load),
    TRAFFIC(store),
    TRAFFIC(atomic),
    TRAFFIC(copy),
    TRAFFIC(copy_past_l1),
    NUMBER(copy_line_pairs),
    TRAFFIC(bulk_load),
    TRAFFIC(bulk_store),
    SHARED(shared_load_merged),
    SHARED(shared_store),
    SHARED(copy_shared),
    NUMBER(bulk_shared_bytes),
    NUMBER(tensor_shared_bytes),
    NUMBER(barriers),
    NUMBER(l1_hit_rate),
    NUMBER(l1_load_miss_rate),
    AT(l2.is_known, FIELD_INT),
    NUMBER(l2.reads),
    NUMBER(l2.read_misses),
    NUMBER(l2.home_reads),
    NUMBER(l2.home_misses),
    NUMBER(l2.writes),
    NUMBER(l2.home_writes),
    NUMBER(l2.dram_reads),
    NUMBER(l2.dram_writes),
    NUMBER(split_store_sectors),
    AT(has_machine_code, FIELD_INT),
    NUMBER(load_stores),
    NUMBER(waits),
    NUMBER(cut_copies),
    NUMBER(store_branches),
    NUMBER(most_cut_copies),
    NUMBER(most_store_branches),
    NUMBER(prepared_bytes),
    NUMBER(dram_waits),
    NUMBER(l2_waits),
};

static double value_of(const lab_counters *counters, const field *f)
{
    const char *at = (const char *)counters + f->offset;
    if (f->kind == FIELD_DOUBLE)
        return *(const double *)(const void *)at;
    return f->kind == FIELD_INT ? (double)*(const int *)(const void *)at : (double)*(const long long *)(const void *)at;
}

static void set_value(lab_counters *counters, const field *f, double value)
{
    char *at = (char *)counters + f->offset;
    if (f->kind == FIELD_DOUBLE)
        *(double *)(void *)at = value;
    else if (f->kind == FIELD_INT)
        *(int *)(void *)at = (int)value;
    else
        *(long long *)(void *)at = (long long)value;
}

void lab_counters_write(const lab_counters *counters, FILE *to)
{
    const char *before = "";
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const double value = value_of(counters, &fields[i]);
        if (value == 0)
            continue;
        fprintf(to, "%s%s=%.9g", before, fields[i].name, value);
        before = " ";
    }
}

int lab_counters_read(const char *line, lab_counters *out)
{
    *out = (lab_counters){.ctas = 0};
    while (isspace((unsigned char)*line))
        line++;
    while (*line) {
        const size_t length = strcspn(line, "=");
        const field *found = NULL;
        for (size_t i = 0; i < sizeof fields / sizeof fields[0] && !found; i++)
            if (strlen(fields[i].name) == length && memcmp(fields[i].name, line, length) == 0)
                found = &fields[i];
        if (!found || line[length] != '=')
            return 0;
        char *end;
        const double value = strtod(line + length + 1, &end);
        if (end == line + length + 1)
            return 0;
        set_value(out, found, value);
        for (line = end; isspace((unsigned char)*line);)
            line++;
    }
    return 1;
}
