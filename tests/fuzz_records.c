/* libFuzzer: lines of benchmark results, any bytes. What is read must be written and read back the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/bench/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

/* Line `index` as JSON, from malloc. */
static char *line_of(const lab_records *records, size_t index)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    require(file != NULL);
    lab_record_write_json(file, &records->items[index]);
    fclose(file);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_records records, again;
    const tsr_status status = lab_records_parse("fuzz.json", (const char *)data, size, &records);
    if (status != TSR_OK) {
        require(records.count == 0 && strncmp(tsr_last_error(), "fuzz.json:", 10) == 0);
        return 0;
    }
    for (size_t i = 0; i < records.count && i < 8; i++) {
        char *text = line_of(&records, i);
        require(lab_records_parse("again", text, strlen(text), &again) == TSR_OK && again.count == 1);
        /* Text that is no UTF-8 is replaced once and then stays. */
        char *second = line_of(&again, 0);
        lab_records third;
        require(lab_records_parse("third", second, strlen(second), &third) == TSR_OK && third.count == 1);
        require(third.items[0].m == records.items[i].m && third.items[0].k == records.items[i].k);
        lab_records_free(&third);
        lab_records_free(&again);
        free(second);
        free(text);
    }
    lab_records_free(&records);
    return 0;
}
