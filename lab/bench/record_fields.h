/* The fields of a JSON line of results, in their order; for the writers and the reader. */
#ifndef LAB_RECORD_FIELDS_H
#define LAB_RECORD_FIELDS_H

#include "lab/bench/report.h"

typedef enum lab_field_kind { LAB_FIELD_TEXT, LAB_FIELD_WHOLE, LAB_FIELD_NUMBER } lab_field_kind;

typedef struct lab_field {
    const char *name;
    lab_field_kind kind;
    size_t offset; /* in lab_record: of a char array, an int64_t or a double */
    size_t bytes;
} lab_field;

#define LAB_FIELD_COUNT 30
extern const lab_field lab_fields[LAB_FIELD_COUNT];

/* CSV (RFC 4180): the fields, then note. */
void lab_record_write_csv_head(FILE *file);
void lab_record_write_csv_row(FILE *file, const lab_record *record);

#endif
