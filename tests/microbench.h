/* Runs each microbenchmark (src/plan/microbench.def) on a device and compares what it leaves with plain arithmetic: the
 * end of a chase, the sum of what each thread read, a copy, the value of each chain of FMAs. */
#ifndef TESTS_MICROBENCH_H
#define TESTS_MICROBENCH_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "plan/microbench.h"

enum {
    MB_CHUNK = 16 << 10,
    MB_CHUNKS = 5,
    MB_FROM = MB_CHUNKS * MB_CHUNK, /* 80 KiB, more than any kernel here reads by itself */
    MB_CTAS = 3,
    MB_THREADS = 256,
    MB_SHARED_NODES = 16 << 10,
    MB_SHARED = 32 << 10
};

/* A device with a buffer to read and one to write; their images on the host. */
typedef struct mb_room {
    const tsr_backend *backend;
    tsr_device *device;
    char *from, *to; /* the device's */
    char from_image[MB_FROM], to_image[MB_FROM];
    char why[200];
} mb_room;

static inline int mb_run(mb_room *r, const char *kernel, long long ctas, tsr_microbench_args args)
{
    tsr_launch launch = {.config = tsr_microbench_config(kernel), .microbench = &args, .grid = {ctas, 1, 1}};
    args.from = r->from;
    args.to = r->to;
    memset(r->to_image, 0x55, MB_FROM);
    snprintf(r->why, sizeof r->why, "%s does not run", kernel);
    return launch.config && r->backend->upload(r->device, r->from, r->from_image, MB_FROM, NULL) == TSR_OK &&
           r->backend->upload(r->device, r->to, r->to_image, MB_FROM, NULL) == TSR_OK &&
           r->backend->load(r->device, launch.config, &launch.loaded) == TSR_OK &&
           r->backend->launch(r->device, &launch) == TSR_OK && r->backend->synchronize(r->device, NULL) == TSR_OK &&
           r->backend->download(r->device, r->to_image, r->to, MB_FROM, NULL) == TSR_OK;
}

static inline int mb_is(mb_room *r, const char *kernel, int good)
{
    snprintf(r->why, sizeof r->why, "%s leaves another result", kernel);
    return good;
}

/* Node i leads to node i + STRIDE: one cycle. */
static inline int mb_chases(mb_room *r, const char *kernel, int is_shared)
{
    const int distance = is_shared ? 4 : 128, word = is_shared ? 4 : 8;
    const int nodes = is_shared ? MB_SHARED_NODES / 4 : MB_FROM / distance;
    enum { FIRST = 3, STEPS = 1003, STRIDE = 7 }; /* 7 divides neither 4096 nor 640 */
    const uint64_t base = is_shared ? 0 : (uint64_t)(uintptr_t)r->from;
    memset(r->from_image, 0, MB_FROM);
    for (int i = 0; i < nodes; i++) {
        const uint64_t next = base + (uint64_t)((i + STRIDE) % nodes * distance);
        memcpy(r->from_image + i * distance, &next, (size_t)word);
    }
    if (!mb_run(r, kernel, 1,
                (tsr_microbench_args){.from_bytes = is_shared ? MB_SHARED_NODES : MB_FROM,
                                      .to_bytes = 8,
                                      .steps = STEPS,
                                      .first = FIRST * distance}))
        return 0;
    const uint64_t want = base + (uint64_t)((FIRST + STEPS * STRIDE) % nodes * distance);
    return mb_is(r, kernel, memcmp(r->to_image, &want, 8) == 0);
}

static inline void mb_fill_words(mb_room *r)
{
    for (uint32_t i = 0; i < MB_FROM / 4; i++) {
        const uint32_t word = i * 2654435761u;
        memcpy(r->from_image + 4 * i, &word, 4);
    }
}

/* Sum of the words that a thread has of a chunk. */
static inline uint32_t mb_sum(const mb_room *r, long long chunk, int thread)
{
    uint32_t sum = 0, word;
    for (int each = 0; each < 4; each++)
        for (int i = 0; i < 4; i++) {
            memcpy(&word, r->from_image + chunk * MB_CHUNK + each * MB_THREADS * 16 + thread * 16 + 4 * i, 4);
            sum += word;
        }
    return sum;
}

static inline int mb_reads(mb_room *r, const char *kernel, int between_ctas, int between_steps)
{
    enum { STEPS = 7 };
    mb_fill_words(r);
    if (!mb_run(r, kernel, MB_CTAS,
                (tsr_microbench_args){.from_bytes = MB_FROM,
                                      .to_bytes = MB_CTAS * MB_THREADS * 4,
                                      .steps = STEPS,
                                      .chunks = MB_CHUNKS,
                                      .between_ctas = between_ctas,
                                      .between_steps = between_steps}))
        return 0;
    for (int cta = 0; cta < MB_CTAS; cta++)
        for (int thread = 0; thread < MB_THREADS; thread++) {
            uint32_t want = 0, got;
            for (int i = 0; i < STEPS; i++)
                want += mb_sum(r, (cta * between_ctas + i * between_steps) % MB_CHUNKS, thread);
            memcpy(&got, r->to_image + (cta * MB_THREADS + thread) * 4, 4);
            if (got != want)
                return mb_is(r, kernel, 0);
        }
    return 1;
}

/* Each CTA has chunks of its own, so that none is written twice. */
static inline int mb_copies(mb_room *r)
{
    mb_fill_words(r);
    if (!mb_run(r, "copy", MB_CHUNKS,
                (tsr_microbench_args){.from_bytes = MB_FROM,
                                      .to_bytes = MB_FROM,
                                      .steps = 1,
                                      .chunks = MB_CHUNKS,
                                      .between_ctas = 1,
                                      .between_steps = 1}))
        return 0;
    return mb_is(r, "copy", memcmp(r->from_image, r->to_image, MB_FROM) == 0);
}

static inline int mb_reads_shared(mb_room *r)
{
    enum { STEPS = 300, ROW = MB_THREADS * 4, ROWS = 8 }; /* more steps than a row has places: it wraps */
    static float words[MB_SHARED / 4];
    for (int i = 0; i < MB_SHARED / 4; i++)
        words[i] = (float)(i % 7 - 3); /* sums are exact */
    memcpy(r->from_image, words, sizeof words);
    if (!mb_run(r, "read_shared", MB_CTAS,
                (tsr_microbench_args){.from_bytes = MB_SHARED, .to_bytes = MB_CTAS * MB_THREADS * 4, .steps = STEPS}))
        return 0;
    for (int at = 0; at < MB_CTAS * MB_THREADS; at++) {
        float want = 0, got;
        for (int i = 0; i < STEPS; i++)
            for (int row = 0; row < ROWS; row++)
                for (int j = 0; j < 4; j++)
                    want += words[row * ROW + (at % MB_THREADS + i) * 4 % ROW + j];
        memcpy(&got, r->to_image + 4 * at, 4);
        if (got != want)
            return mb_is(r, "read_shared", 0);
    }
    return 1;
}

static inline int mb_multiplies(mb_room *r, const char *kernel, int chains, int threads)
{
    enum { STEPS = 3, EACH = 16 };
    float factors[10] = {0.75f, 1.5f}, want = 0;
    for (int c = 0; c < 8; c++)
        factors[2 + c] = (float)(c + 1);
    memcpy(r->from_image, factors, sizeof factors);
    for (int c = 0; c < chains; c++) {
        float x = factors[2 + c];
        for (int i = 0; i < STEPS * EACH; i++)
            x = fmaf(x, factors[0], factors[1]);
        want += x;
    }
    if (!mb_run(r, kernel, MB_CTAS,
                (tsr_microbench_args){.from_bytes = 40, .to_bytes = MB_CTAS * threads * 4, .steps = STEPS}))
        return 0;
    for (int at = 0; at < MB_CTAS * threads; at++)
        if (memcmp(r->to_image + 4 * at, &want, 4) != 0)
            return mb_is(r, kernel, 0);
    return 1;
}

/* 1 if all are right; else `why` says which is not. */
static inline int mb_all(mb_room *r)
{
    return mb_chases(r, "chase_l1", 0) && mb_chases(r, "chase_l2", 0) && mb_chases(r, "chase_shared", 1) &&
           mb_reads(r, "read_l1", 0, 1) && mb_reads(r, "read_l2", 1, MB_CTAS) && mb_copies(r) && mb_reads_shared(r) &&
           mb_multiplies(r, "fma_chain", 1, 32) && mb_multiplies(r, "fma_rate", 8, MB_THREADS);
}

/* The same with buffers of its own. */
static inline int mb_check(mb_room *r, const tsr_backend *backend, tsr_device *device)
{
    void *from = NULL, *to = NULL;
    r->backend = backend;
    r->device = device;
    snprintf(r->why, sizeof r->why, "no memory");
    int good = backend->alloc(device, MB_FROM, &from) == TSR_OK && backend->alloc(device, MB_FROM, &to) == TSR_OK;
    r->from = from;
    r->to = to;
    good = good && mb_all(r);
    if (from)
        backend->free(device, from);
    if (to)
        backend->free(device, to);
    return good;
}

#endif
