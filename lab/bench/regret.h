/* Selection regret: what the library's choice took, over what the fastest measured config took. From results of a
 * benchmark with all configs (`bench --instances`), for the cost model as it is now. */
#ifndef LAB_REGRET_H
#define LAB_REGRET_H

#include "lab/bench/report.h"
#include "lab/common/gpus.h"

struct tsr_profile;

typedef struct lab_regret_line {
    const lab_record *first; /* of the problem: type, layout, shape */
    const lab_record *fastest;
    const lab_record *chosen; /* NULL: the config that the library would choose was not measured */
    char choice[64];          /* what it would choose; "" if no config applies */
    size_t rows;              /* measured */
} lab_regret_line;

typedef struct lab_regret {
    lab_regret_line *lines; /* in the order of the records */
    size_t count, judged;   /* judged: those with a chosen record */
    double mean, worst;     /* geometric mean and largest of the judged lines' ratios; NAN if there are none */
} lab_regret;

/* The GPU of the table whose name a record's device begins with; NULL if there is none. */
const lab_gpu_spec *lab_regret_gpu(const lab_record *record);

/* Flags of a record's problem: those that its device names, and TSR_SPARSE24_A of a kernel that compresses A without
 * being asked to. */
unsigned lab_regret_flags(const lab_record *record);

/* Problems on known GPUs with at least two configs measured; others are left out. Operands are taken to be tight, in
 * GPU memory, aligned as allocators align them. Points into `records`. `profile` has the prices' constants; NULL: the
 * library's own; where other ones select another schedule of the chosen config, its time is not known. The caller frees
 * *out, also after a failure. */
tsr_status lab_regret_of(const lab_record *records, size_t count, const struct tsr_profile *profile, lab_regret *out);
void lab_regret_free(lab_regret *regret);

/* Time of the choice over that of the fastest config; NAN if it was not measured. */
double lab_regret_ratio(const lab_regret_line *line);

#endif
