/* No library but the memory itself: a pass over the operands, as fast as simple loops can, so that a product's time
 * stands beside what its bytes need at least. With K = 1, where nearly all bytes are results, D is written; else A, B
 * and D are read. The time of the pass over the product's is the share of the bandwidth that the product reaches. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "core/error.h"
#include "lab/common/parallel.h"
#include "lab/peers/peer.h"

enum { PATTERN = 0x3f9d1234 }; /* no zeros: those are written twice as fast on some machines */

/* Ways to go over the bytes. Prefetchers like some number of streams best, which one differs between machines. */
enum {
    READ_1,
    READ_4,
    READ_8,
    READ_WAYS,
    WRITE_PAST_CACHES = 0,
    WRITE,
    WRITE_WAYS,
    LINE = 64,
    SPANS = 3,
    WORKERS = 255
};

typedef long long lane __attribute__((vector_size(16), may_alias));

typedef struct span {
    char *at;
    int64_t bytes;
} span;

typedef struct memory_peer memory_peer;

typedef struct worker {
    memory_peer *peer;
    pthread_t thread;
    int index; /* from 1; the caller is 0 */
} worker;

struct memory_peer {
    int threads; /* the caller's among them */
    worker workers[WORKERS];
    pthread_mutex_t starting; /* held until it is known how many threads there are */
    pthread_barrier_t begin, end;
    int stop;
    /* The pass that is on. */
    span spans[SPANS];
    int writes, way;
};

typedef struct memory_problem {
    memory_peer *peer;
    int64_t bytes[SPANS]; /* of A, B, D */
    int writes;
} memory_problem;

/* Whole lines at `streams` places of the span at once; `streams` is a constant where it is called. */
static inline __attribute__((always_inline)) void read_streams(const char *at, int64_t bytes, const int streams)
{
    const int64_t step = bytes / streams / LINE * LINE;
    lane sum[LINE / 16] = {{0}};
    for (int64_t i = 0; i < step; i += LINE)
#pragma GCC unroll 8
        for (int s = 0; s < streams; s++)
#pragma GCC unroll 4
            for (int l = 0; l < LINE / 16; l++)
                sum[l] += *(const lane *)(at + s * step + i + l * 16);
    for (int l = 0; l < LINE / 16; l++)
        __asm__ volatile("" : : "m"(sum[l]));
}

static void read_span(const char *at, int64_t bytes, int way)
{
    if (way == READ_1)
        read_streams(at, bytes, 1);
    else if (way == READ_4)
        read_streams(at, bytes, 4);
    else
        read_streams(at, bytes, 8);
}

static void write_span(char *at, int64_t bytes, int way)
{
#if defined(__x86_64__)
    if (way == WRITE_PAST_CACHES) {
        for (int64_t i = 0; i + 16 <= bytes; i += 16)
            _mm_stream_si128((__m128i *)(void *)(at + i), _mm_set1_epi32(PATTERN));
        _mm_sfence();
        return;
    }
#endif
    (void)way;
    memset(at, PATTERN & 0xff, (size_t)bytes);
}

/* One thread's share of each span. */
static void pass(const memory_peer *peer, int index)
{
    for (int i = 0; i < SPANS; i++) {
        const int64_t lines = peer->spans[i].bytes / LINE;
        const int64_t from = lines * index / peer->threads * LINE, to = lines * (index + 1) / peer->threads * LINE;
        char *const at = peer->spans[i].at + from;
        if (peer->writes)
            write_span(at, to - from, peer->way);
        else
            read_span(at, to - from, peer->way);
    }
}

static void *work(void *argument)
{
    const worker *self = argument;
    memory_peer *peer = self->peer;
    pthread_mutex_lock(&peer->starting);
    pthread_mutex_unlock(&peer->starting);
    for (;;) {
        pthread_barrier_wait(&peer->begin);
        if (peer->stop)
            return NULL;
        pass(peer, self->index);
        pthread_barrier_wait(&peer->end);
    }
}

static void close_memory(void *state)
{
    memory_peer *peer = state;
    peer->stop = 1;
    pthread_barrier_wait(&peer->begin);
    for (int i = 0; i < peer->threads - 1; i++)
        pthread_join(peer->workers[i].thread, NULL);
    pthread_mutex_destroy(&peer->starting);
    pthread_barrier_destroy(&peer->begin);
    pthread_barrier_destroy(&peer->end);
    free(peer);
}

/* Where threads cannot be made, fewer do it. */
static tsr_status open_memory(int ordinal, int threads, void **state)
{
    (void)ordinal;
    memory_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to measure memory");
    threads = threads > 0 ? threads : lab_processors();
    threads = threads < WORKERS + 1 ? threads : WORKERS + 1;
    pthread_mutex_init(&peer->starting, NULL);
    pthread_mutex_lock(&peer->starting);
    for (peer->threads = 1; peer->threads < threads; peer->threads++) {
        worker *next = &peer->workers[peer->threads - 1];
        *next = (worker){.peer = peer, .index = peer->threads};
        if (pthread_create(&next->thread, NULL, work, next) != 0)
            break;
    }
    pthread_barrier_init(&peer->begin, NULL, (unsigned)peer->threads);
    pthread_barrier_init(&peer->end, NULL, (unsigned)peer->threads);
    pthread_mutex_unlock(&peer->starting);
    *state = peer;
    return TSR_OK;
}

static void memory_version(void *state, char *out, size_t out_bytes)
{
    const memory_peer *peer = state;
    snprintf(out, out_bytes, "memory, %d thread%s", peer->threads, peer->threads == 1 ? "" : "s");
}

static int64_t bytes_of(const tsr_operand *operand, int64_t rows, int64_t columns)
{
    const int64_t stored_rows = operand->trans == TSR_T ? columns : rows;
    const int64_t stored_columns = operand->trans == TSR_T ? rows : columns;
    const int64_t ld = operand->ld > 0 ? operand->ld : stored_columns;
    const int64_t elements = stored_rows > 0 ? (stored_rows - 1) * ld + stored_columns : 0;
    return elements * (int64_t)tsr_dtype_bytes(operand->dtype);
}

static tsr_status prepare(void *state, const tsr_gemm_desc *desc, void **out, int *choices)
{
    if (desc->a.memory == TSR_DEVICE || desc->batch_count != 1)
        return tsr_fail(TSR_UNSUPPORTED, "memory: only one product with operands in host memory");
    if (desc->flags & (TSR_SPARSE24_A | TSR_SPARSE24_B))
        return tsr_fail(TSR_UNSUPPORTED, "memory: only whole operands, and one is compressed");
    memory_problem *problem = calloc(1, sizeof *problem);
    if (problem == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to measure memory");
    problem->peer = state;
    problem->writes = desc->k == 1;
    problem->bytes[0] = problem->writes ? 0 : bytes_of(&desc->a, desc->m, desc->k);
    problem->bytes[1] = problem->writes ? 0 : bytes_of(&desc->b, desc->k, desc->n);
    problem->bytes[2] = bytes_of(&desc->d, desc->m, desc->n);
    *out = problem;
    *choices = problem->writes ? WRITE_WAYS : READ_WAYS;
    return TSR_OK;
}

static void release(void *problem)
{
    free(problem);
}

static tsr_status run(void *state, int choice, const tsr_run_args *args)
{
    const memory_problem *problem = state;
    memory_peer *peer = problem->peer;
    peer->writes = problem->writes;
    peer->way = choice;
    memcpy(&peer->spans[0].at, &args->a, sizeof args->a); /* A and B are only read */
    memcpy(&peer->spans[1].at, &args->b, sizeof args->b);
    peer->spans[2].at = args->d;
    for (int i = 0; i < SPANS; i++)
        peer->spans[i].bytes = problem->bytes[i];
    pthread_barrier_wait(&peer->begin);
    pass(peer, 0);
    pthread_barrier_wait(&peer->end);
    return TSR_OK;
}

const lab_peer_ops lab_peer_memory = {"memory", 0,       open_memory, close_memory, memory_version,
                                      prepare,  release, run,         NULL};
