/* Kernels that cut K and share a workspace, launched again and again; results that no row's number of neighbours may
 * change. On any device: the emulator in unit_emu_repeat.c, a GPU in gpu_live.c. */
#ifndef TESTS_REPEAT_H
#define TESTS_REPEAT_H

#include "tessera.h"

typedef struct repeat_settings {
    tsr_context *context;
    void *const *streams; /* each gets a workspace and a D of its own */
    int stream_count, launches;
    int step; /* tries each step-th instance */
} repeat_settings;

typedef struct repeat_result {
    int kernels;       /* that ran */
    int split;         /* of those, with K cut into parts that meet in the workspace */
    char failure[400]; /* of the first one that failed; "" if none did */
} repeat_result;

/* For each instance that deals out its work itself: the product on every stream in turn, `launches` times in all; all
 * results must be the first one's bits, and every workspace's counters 0 in the end. */
void repeat_launches(const repeat_settings *settings, repeat_result *out);

/* TSR_BATCH_INVARIANT, bf16: the library's choice for each of `count` numbers of rows gives the rows that it gives for
 * the largest, bit for bit. The largest comes first. */
void repeat_batches(tsr_context *context, const int64_t *rows, int count, repeat_result *out);

#endif
