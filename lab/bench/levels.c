#include "lab/bench/levels.h"

#include <stdlib.h>
#include <string.h>

#include "lab/common/parallel.h"
#include "lab/common/timer.h"

/* Many short measurements, of which the best counts: other programs take processors away for longer. */
enum { LINE = 64, LEAST_TRIES = 5, TRIES = 25, CHASE_STEPS = 1 << 16, MOST_DRAM = 1 << 30, LEAST_DRAM = 1 << 26 };
static const double pass_ns = 2e6;  /* of one measurement of bandwidth, at least */
static const double tries_ns = 6e8; /* after which LEAST_TRIES suffice */

typedef unsigned long long lanes __attribute__((vector_size(32), may_alias)); /* unsigned: sums wrap */

/* ---- latency -------------------------------------------------------------------------------------------------------
 */

/* A line that says which comes next. */
typedef struct node {
    struct node *next;
    char rest[LINE - sizeof(void *)];
} node;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* One cycle through all lines (Sattolo's shuffle), so that no prefetcher knows the next. */
static void make_cycle(node *nodes, int64_t count, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++)
        nodes[i].next = &nodes[i];
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t other = (int64_t)(next_random(&seed) % (uint64_t)i);
        node *const next = nodes[i].next;
        nodes[i].next = nodes[other].next;
        nodes[other].next = next;
    }
}

static const node *chase(const node *at, int64_t steps)
{
    for (int64_t i = 0; i < steps; i++)
        at = at->next;
    return at;
}

static double latency_of(void *memory, int64_t bytes)
{
    node *const nodes = memory;
    const node *volatile at = nodes; /* a result that is looked at */
    double best = 0;
    make_cycle(nodes, bytes / LINE, 1);
    at = chase(at, bytes / LINE < CHASE_STEPS ? bytes / LINE : CHASE_STEPS);
    for (int i = 0; i < TRIES; i++) {
        const double start = lab_now_ns();
        at = chase(at, CHASE_STEPS);
        const double ns = (lab_now_ns() - start) / CHASE_STEPS;
        best = i == 0 || ns < best ? ns : best;
    }
    return best;
}

/* ---- bandwidth -----------------------------------------------------------------------------------------------------
 */

/* Each thread passes over its own part. */
typedef struct reading {
    const char *memory;
    int64_t bytes; /* of one thread's part */
    int64_t passes;
    unsigned long long sums[256]; /* so that loads are not left out */
} reading;

static inline __attribute__((always_inline)) unsigned long long read_lanes(const char *memory, int64_t bytes)
{
    const lanes *at = (const lanes *)(const void *)memory;
    lanes sums[4] = {{0}};
    for (int64_t i = 0; i + 4 <= bytes / (int64_t)sizeof *at; i += 4)
        for (int j = 0; j < 4; j++)
            sums[j] += at[i + j];
    const lanes sum = sums[0] + sums[1] + sums[2] + sums[3];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

static unsigned long long read_plain(const char *memory, int64_t bytes)
{
    return read_lanes(memory, bytes);
}

#if defined(__x86_64__)
/* Loads of 32 bytes. */
__attribute__((target("avx2"))) static unsigned long long read_avx2(const char *memory, int64_t bytes)
{
    return read_lanes(memory, bytes);
}
#endif

static unsigned long long read_once(const char *memory, int64_t bytes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return read_avx2(memory, bytes);
#endif
    return read_plain(memory, bytes);
}

static void read_part(void *user, int64_t index)
{
    reading *const r = user;
    unsigned long long sum = 0;
    for (int64_t i = 0; i < r->passes; i++) {
        __asm__ volatile("" ::: "memory"); /* each pass reads anew */
        sum += read_once(r->memory + index * r->bytes, r->bytes);
    }
    r->sums[index % 256] = sum;
}

static double timed(reading *r, int threads)
{
    const double start = lab_now_ns();
    lab_parallel(threads, threads, read_part, r);
    return lab_now_ns() - start;
}

/* Passes that keep one thread busy for long enough. */
static int64_t passes_of(const char *memory, int64_t bytes)
{
    reading r = {.memory = memory, .bytes = bytes, .passes = 1};
    (void)timed(&r, 1);
    while (timed(&r, 1) < pass_ns)
        r.passes *= 2;
    return r.passes;
}

/* Bytes a second of `threads` threads, `bytes` each. */
static double bandwidth_of(const char *memory, int64_t bytes, int threads)
{
    reading r = {.memory = memory, .bytes = bytes, .passes = passes_of(memory, bytes)};
    const double start = lab_now_ns();
    double best = 0;
    for (int i = 0; i < TRIES && (i < LEAST_TRIES || lab_now_ns() - start < tries_ns); i++) {
        const double rate = (double)threads * (double)bytes * (double)r.passes / timed(&r, threads) * 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

/* ---- the levels
 * ------------------------------------------------------------------------------------------------------ */

static int64_t whole_lines(int64_t bytes)
{
    const int64_t block = (int64_t)(4 * sizeof(lanes));
    return bytes / block * block;
}

static int64_t dram_bytes(const lab_device *cpu)
{
    const int64_t beyond = 4 * (cpu->l3_bytes > cpu->l2_bytes ? cpu->l3_bytes : cpu->l2_bytes);
    return beyond < LEAST_DRAM ? LEAST_DRAM : beyond > MOST_DRAM ? MOST_DRAM : beyond;
}

static int measure(lab_level *level, int threads)
{
    const int64_t all = level->is_shared ? level->bytes : threads * level->bytes;
    const int64_t part = whole_lines(all / threads);
    char *memory = aligned_alloc(4096, (size_t)(all + 4095) / 4096 * 4096);
    if (!memory)
        return 0;
    memset(memory, 1, (size_t)all);
    level->one_bytes_per_s = bandwidth_of(memory, level->bytes, 1);
    level->all_bytes_per_s = bandwidth_of(memory, part, threads);
    level->latency_ns = latency_of(memory, level->bytes);
    free(memory);
    return 1;
}

int lab_measure_levels(const lab_device *cpu, lab_level out[LAB_LEVELS])
{
    const lab_level levels[LAB_LEVELS] = {{.name = "L1", .bytes = whole_lines(cpu->l1_bytes / 2)},
                                          {.name = "L2", .bytes = whole_lines(cpu->l2_bytes / 2)},
                                          {.name = "L3", .bytes = whole_lines(cpu->l3_bytes / 2), .is_shared = 1},
                                          {.name = "DRAM", .bytes = whole_lines(dram_bytes(cpu)), .is_shared = 1}};
    const int threads = cpu->threads > 0 ? cpu->threads : 1;
    int count = 0;
    for (int i = 0; i < LAB_LEVELS; i++) {
        if (levels[i].bytes == 0)
            continue;
        out[count] = levels[i];
        count += measure(&out[count], threads);
    }
    return count;
}
