/* Results of benchmarks as a table, JSON lines, CSV or Markdown, and JSON lines read back. */
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include <stdio.h>

#include "tessera.h"

typedef enum lab_format { LAB_TABLE, LAB_JSON, LAB_CSV, LAB_MD } lab_format;

/* Of an instance's name, with a schedule behind an @. */
enum { LAB_INSTANCE_BYTES = 128 };

/* One line of results. Numbers that do not exist are NAN (JSON: null), texts "". */
typedef struct lab_record {
    char kernel[LAB_INSTANCE_BYTES], device[96], dtype[24], layout[4];
    int64_t m, n, k, batch; /* batch: problems of the call, 1 if the line does not say */
    double time_us, time_us_min, spread, gflops, gbps, peak_pct;
    char peer[64]; /* name and version */
    double peer_time_us, peer_best_time_us;
    double ratio, ratio_lo, ratio_hi, ratio_best; /* peer time / ours */
    double clock_mhz, power_w;
    char commit[64], date[16];
    double speedup;         /* over cpu-sequential on the machine's CPU, whichever device the line is of */
    int64_t speedup_scaled; /* 1: cpu-sequential was timed at a smaller size and scaled by 2 M N K */
    char scales[16];        /* of A and B, as lab_scales_word has them; "": none */
    char out_dtype[8];      /* of C and D, where it is not the one that suits A's; "" */
    int64_t rounds;         /* that the numbers are medians of; 0: not known */
    char note[160];         /* "3 rounds only"; not in the JSON line */
    char schedule[64];      /* by which the kernel ran, as users write it; "": not known; not in the JSON line */
} lab_record;

/* A record with every number NAN and every text "". */
lab_record lab_record_make(void);

/* A report being written. Rows go out as they come, so that what was measured is seen even if the rest never is. */
typedef struct lab_report {
    lab_format format;
    FILE *to;
    int kernel_width; /* of the column, tables only */
    int with_peer;    /* tables and Markdown have the columns of a peer */
    size_t rows;
    int columns; /* tables: of the terminal, where rows that are wider go on in lines below; 0, as begun: no limit */
} lab_report;

/* Starts a report on `to`, which stays the caller's. kernel_width: widest kernel name to come. Whether all of it got
 * written, ferror(to) tells. */
lab_report lab_report_begin(lab_format format, FILE *to, int kernel_width, int with_peer);
void lab_report_add(lab_report *report, const lab_record *record);
/* A remark: a line of its own in tables and Markdown; JSON and CSV have no place for it. */
void lab_report_note(lab_report *report, const char *text);

/* One record as a line of JSON, newline included. */
void lab_record_write_json(FILE *file, const lab_record *record);
/* Writes a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void lab_json_string(FILE *file, const char *text);
/* Writes a JSON number that reads back as the same double; null if it is not finite. */
void lab_json_number(FILE *file, double value);

typedef struct lab_records {
    lab_record *items;
    size_t count;
} lab_records;

/* Parses JSON lines as written above; unknown keys are skipped, empty lines too. TSR_INVALID_ARGUMENT names the place:
 * "old.json:3: ...". */
tsr_status lab_records_parse(const char *file_name, const char *text, size_t bytes, lab_records *out);
tsr_status lab_records_read(const char *path, lab_records *out);
void lab_records_free(lab_records *records);

#endif
