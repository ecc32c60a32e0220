/* Results of a benchmark as a ladder: rungs down, sizes across, and each rung's speedup over others. */
#ifndef LAB_LADDER_H
#define LAB_LADDER_H

#include "lab/bench/report.h"
#include "lab/common/shapes.h"

enum { LAB_LADDER_RUNGS = 64, LAB_LADDER_SIZES = 12 };

/* A kernel on a device. */
typedef struct lab_rung {
    const char *kernel; /* its name; a static string */
    const char *device; /* of a record */
    int is_cuda;
    size_t device_number; /* devices in the order of the records */
} lab_rung;

/* The lines of one type and layout. Points into the records that it was made from. */
typedef struct lab_ladder {
    const char *dtype, *layout;
    lab_shape sizes[LAB_LADDER_SIZES]; /* in the order of the records */
    size_t size_count;
    lab_rung rungs[LAB_LADDER_RUNGS]; /* CPUs before GPUs; then by device, and by the kernel table's order */
    size_t rung_count;
    const lab_record *cells[LAB_LADDER_RUNGS][LAB_LADDER_SIZES]; /* the fastest instance; NULL: not measured */
    double sequential_us[LAB_LADDER_SIZES];                      /* cpu-sequential; NAN: not known */
    int sequential_scaled[LAB_LADDER_SIZES];                     /* from a smaller size */
    size_t left_out;                                             /* records that found no room */
} lab_ladder;

/* The ladder of all records with the type and layout of records[first]. Records of kernels that this build does not
 * have are left out. */
void lab_ladder_make(const lab_record *records, size_t count, size_t first, lab_ladder *out);

/* 1 if no record before `index` has its type and layout: each such index is one ladder. */
int lab_ladder_is_new(const lab_record *records, size_t index);

typedef enum lab_ladder_over { LAB_OVER_BELOW, LAB_OVER_NAIVE, LAB_OVER_SEQUENTIAL, LAB_OVER_PEER } lab_ladder_over;

/* Time of the other over that of the rung; NAN where one of them is not known. BELOW: the rung before it on the same
 * device that was measured at that size; PEER: what the record was measured beside. */
double lab_ladder_speedup(const lab_ladder *ladder, size_t rung, size_t size, lab_ladder_over over);

/* FLOP/s of the device's peak for the type, from any record of the device; NAN where it is not known. */
double lab_ladder_peak_gflops(const lab_ladder *ladder, const char *device);
/* The fastest that the peer was measured at a size on a device, and its name; NAN where there was none. */
double lab_ladder_peer_gflops(const lab_ladder *ladder, const char *device, size_t size, const char **name);

#endif
