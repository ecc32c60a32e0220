/* Kernels for Hopper with planted bugs (tests/emu/planted_hopper): mbarriers, the copy engine, clusters, wgmma, warps.
 * Each bug must be caught with the right words at a line that is marked as its own, and the kernel without one must
 * pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/run_launch.h"

enum { ELEMENTS = 512, WORKSPACE = 64, SHARED_BYTES = 8192, SEEDS = 8 };

/* X(kernel, number of the bug, CTAs, CTAs of a cluster, threads, what must be said of it); bug 0 is none. */
#define PLANTED_BUGS(X)                                                                               \
    X(engine_load, 1, 1, 1, 128, "before an asynchronous copy to it was waited for")                  \
    X(engine_load, 2, 1, 1, 128, "deadlock")                                                          \
    X(engine_load, 3, 1, 1, 128, "more bytes come to an mbarrier than its phase was told to expect")  \
    X(engine_load, 4, 1, 1, 128, "before an asynchronous copy to it was waited for")                  \
    X(engine_load, 5, 1, 1, 128, "or without fence.mbarrier_init")                                    \
    X(engine_load, 6, 1, 1, 128, "mbarrier was not initialised")                                      \
    X(engine_load, 7, 1, 1, 128, "an mbarrier must lie at a multiple of 8 bytes")                     \
    X(engine_load, 8, 1, 1, 128, "shared memory must be aligned to 128 bytes")                        \
    X(engine_load, 9, 1, 1, 128, "a tensor map of another rank")                                      \
    X(engine_load, 10, 1, 1, 128, "deadlock")                                                         \
    X(engine_load, 11, 1, 1, 128, "ends before the bulk copies to its shared memory have come")       \
    X(engine_load, 12, 1, 1, 128, "reaches beyond the CTA's shared memory")                           \
    X(engine_load, 13, 1, 1, 128, "box must begin at a multiple of 16 bytes along x")                 \
    X(engine_load, 14, 1, 1, 128, "from shared to shared memory in a launch without clusters")        \
    X(engine_store, 1, 1, 1, 128, "with no fence.proxy.async")                                        \
    X(engine_store, 2, 1, 1, 128, "race: ")                                                           \
    X(engine_store, 3, 1, 1, 128, "race: read of shared memory + 0 that thread (0, 0) wrote")         \
    X(engine_store, 4, 1, 1, 128, "ends before its bulk stores have read shared memory")              \
    X(engine_store, 5, 1, 1, 128, "shared memory")                                                    \
    X(engine_store, 6, 1, 1, 128, "ends before its bulk stores have read shared memory")              \
    X(engine_store, 7, 1, 1, 128, "shared memory must be aligned to 128 bytes")                       \
    X(engine_store, 8, 1, 1, 128, "which this launch never wrote")                                    \
    X(engine_store, 9, 1, 1, 128, "must not begin before its tensor")                                 \
    X(mbarrier_ring, 1, 1, 1, 128, "deadlock")                                                        \
    X(mbarrier_ring, 2, 1, 1, 128, "shared memory")                                                   \
    X(mbarrier_ring, 3, 1, 1, 128, "shared memory")                                                   \
    X(mbarrier_ring, 4, 1, 1, 128, "shared memory")                                                   \
    X(mbarrier_ring, 5, 1, 1, 128, "shared memory")                                                   \
    X(cluster_send, 1, 2, 2, 128, "used before the cluster has met")                                  \
    X(cluster_send, 2, 2, 2, 128, "the target and the mbarrier of a bulk copy lie in different CTAs") \
    X(cluster_send, 3, 2, 2, 128, "race: read of shared memory + 28 that thread (")                   \
    X(cluster_send, 4, 2, 2, 128, "ends before bulk copies have read its shared memory")              \
    X(cluster_send, 5, 2, 2, 128, "with no fence.proxy.async")                                        \
    X(cluster_send, 6, 2, 2, 128, "read of ")                                                         \
    X(cluster_send, 7, 2, 2, 128, "or without fence.mbarrier_init")                                   \
    X(cluster_send, 8, 2, 2, 128, "size must be a multiple of 16 bytes")                              \
    X(cluster_send, 9, 2, 2, 128, "more bytes come to an mbarrier than its phase was told to expect") \
    X(wgmma_tile, 1, 1, 1, 128, "with no wgmma.fence before")                                         \
    X(wgmma_tile, 2, 1, 1, 128, "ends before its wgmma products are waited for")                      \
    X(wgmma_tile, 3, 1, 1, 128, "ends before its wgmma products are waited for")                      \
    X(wgmma_tile, 4, 1, 1, 128, "with no fence.proxy.async")                                          \
    X(wgmma_tile, 5, 1, 1, 128, "race: ")                                                             \
    X(wgmma_tile, 6, 1, 1, 128, "misaligned wgmma descriptor")                                        \
    X(wgmma_tile, 7, 1, 1, 128, "deadlock")                                                           \
    X(wgmma_tile, 8, 1, 1, 128, "a wgmma descriptor reaches beyond the CTA's shared memory")          \
    X(wgmma_tile, 9, 1, 1, 128, "threads of a warp group disagree about their wgmma products")        \
    X(wgmma_tile, 10, 1, 1, 128, "shared memory")                                                     \
    X(registers, 1, 1, 1, 384, "setmaxnreg takes a multiple of 8 from 24 to 256")                     \
    X(registers, 2, 1, 1, 384, "threads of a warp group set different numbers of registers")          \
    X(registers, 3, 1, 1, 384, "ask for more registers than it is launched with")                     \
    X(registers, 4, 1, 1, 384, "setmaxnreg.dec to more registers than the warp group has")            \
    X(engine_reduce, 1, 2, 1, 128, "which this launch never wrote")                                   \
    X(engine_reduce, 2, 2, 1, 128, "D[0, ")                                                           \
    X(engine_reduce, 3, 2, 1, 128, "a reduction that the tensor map's element type does not have")    \
    X(engine_reduce, 4, 2, 1, 128, "with no fence.proxy.async")                                       \
    X(engine_reduce, 5, 2, 1, 128, "must not begin before its tensor")                                \
    X(lanes, 1, 1, 1, 128, "deadlock")                                                                \
    X(lanes, 2, 1, 1, 128, "redux.sync: lanes came with different operations")                        \
    X(lanes, 3, 1, 1, 128, "deadlock")

typedef void kernel_tma(const tsr_gemm_args args, const tsr_tensor_maps maps);
#define DECLARE(name, bug, ...) kernel_tma hopper_##name##_##bug, hopper_##name##_0;
PLANTED_BUGS(DECLARE)

typedef struct planted {
    const char *name;
    int bug;
    kernel_tma *good, *bad;
    int ctas, cluster;
    unsigned threads;
    const char *says;
} planted;

static const planted bugs[] = {
#define ENTRY(name, bug, ...) {#name, bug, hopper_##name##_0, hopper_##name##_##bug, __VA_ARGS__},
    PLANTED_BUGS(ENTRY)};
enum { BUG_COUNT = sizeof bugs / sizeof bugs[0] };

typedef struct matrices {
    _Alignas(128) float a[ELEMENTS];
    float d[ELEMENTS], workspace[WORKSPACE];
} matrices;

/* 64 rows of 8 elements. */
static void make_map(const float *base, tsr_tensor_map *out)
{
    const tsr_tensor_spec spec = {
        .base = base, .dtype = TSR_F32, .rank = 2, .dims = {8, 64}, .strides_bytes = {32}, .box = {8, 64}};
    assert_null(tsr_tensor_spec_fault(&spec));
    tsr_emu_encode(&spec, out);
}

static tsr_status run(const planted *p, kernel_tma *kernel, matrices *m, unsigned long long seed, int workers)
{
    for (int i = 0; i < ELEMENTS; i++) {
        m->a[i] = (float)(i * 37 % 101 + 1);
        m->d[i] = -1;
    }
    tsr_tensor_maps maps = {0};
    make_map(m->a, &maps.a);
    make_map(m->d, &maps.d);
    const tsr_gemm_args args = {.a = m->a,
                                .d = m->d,
                                .workspace = m->workspace,
                                .m = 1,
                                .n = ELEMENTS,
                                .k = ELEMENTS,
                                .lda = ELEMENTS,
                                .ldd = ELEMENTS,
                                .batch = 1,
                                .alpha = 1};
    const tsr_emu_job job = {.name = p->name,
                             .kernel_tma = kernel,
                             .maps = &maps,
                             .args = &args,
                             .cluster = p->cluster,
                             .dtype_a = TSR_F32,
                             .dtype_b = TSR_F32,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .grid = {p->ctas, 1, 1},
                             .threads_x = p->threads,
                             .threads_y = 1,
                             .shared_bytes = SHARED_BYTES,
                             .workspace_bytes = sizeof m->workspace,
                             .seed = seed,
                             .workers = workers};
    return tsr_emu_run(&job);
}

/* 1 if the line has the mark of this bug: "planted" and its number, or no number at all. */
static int is_marked(const char *line, int bug)
{
    const char *at = strstr(line, "/* planted");
    if (!at)
        return 0;
    at += strlen("/* planted");
    char *end;
    long number = strtol(at, &end, 10);
    if (end == at)
        return 1;
    for (; end != at; number = strtol(at = end, &end, 10))
        if (number == bug)
            return 1;
    return 0;
}

static int names_planted_line(const planted *p, const char *message)
{
    char path[1024], line[512], place[256];
    snprintf(path, sizeof path, "%s/%s.cu", PLANTED_FOLDER, p->name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    int found = 0;
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        snprintf(place, sizeof place, "tests/emu/planted_hopper/%s.cu:%d", p->name, number);
        const char *at = strstr(message, place);
        if (at && is_marked(line, p->bug) && (at[strlen(place)] < '0' || at[strlen(place)] > '9'))
            found = 1;
    }
    fclose(file);
    return found;
}

static void every_bug_is_caught(void **state)
{
    (void)state;
    static matrices space;
    matrices *const m = &space;
    const int has_addr2line = system("addr2line --version > /dev/null 2>&1") == 0;
    int failed = 0;
    for (int i = 0; i < BUG_COUNT; i++) {
        const planted *p = &bugs[i];
        char start[96];
        snprintf(start, sizeof start, "%s, CTA (", p->name);
        int bad = 0;
        for (unsigned long long seed = 0; seed < SEEDS && !bad; seed++) {
            const tsr_status status = run(p, p->bad, m, seed, 2);
            const char *message = status == TSR_OK ? "no fault" : tsr_last_error();
            bad =
                status != TSR_KERNEL_FAULT || !strstr(message, p->says) || strncmp(message, start, strlen(start)) != 0;
            bad |= !bad && has_addr2line && !names_planted_line(p, message);
            if (bad || seed == 0)
                print_message("%d %s\n", p->bug, message);
            if (bad)
                print_error("%s, bug %d, seed %llu: expected \"%s\" at its line\n", p->name, p->bug, seed, p->says);
        }
        failed += bad;
    }
    assert_int_equal(failed, 0);
}

static void without_a_bug_all_pass(void **state)
{
    (void)state;
    static matrices space;
    matrices *const m = &space;
    for (int i = 0; i < BUG_COUNT; i++)
        for (unsigned long long seed = 0; seed < SEEDS && (i == 0 || bugs[i].good != bugs[i - 1].good); seed++) {
            if (run(&bugs[i], bugs[i].good, m, seed, 1 + (int)seed % 2) != TSR_OK)
                fail_msg("%s, seed %llu: %s", bugs[i].name, seed, tsr_last_error());
            assert_memory_equal(m->d, m->a, sizeof m->a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bug_is_caught),
        cmocka_unit_test(without_a_bug_all_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
