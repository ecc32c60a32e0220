/* Kernels with one planted bug each (tests/emu/planted) must be caught with the right message at the right line, and
 * pass once the bug is taken out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/run_launch.h"

enum { M = 6, N = 7, LDA = 9, LDC = 8, LDD = 8, SLACK = 2048, THREADS = 32 };

#define PLANTED_BUGS(X)                                                                                           \
    X(out_of_bounds_read, 1, 0, 32, 1, "read of 4 bytes at A[6, 0] out of bounds: A is stored 6 x 7")             \
    X(out_of_bounds_write, 1, 0, 32, 32, " out of bounds: D is stored 6 x 7")                                     \
    X(padding_read, 1, 0, 32, 1, "7] out of bounds: ")                                                            \
    X(poison_read, 1, 0, 32, 1, "read of 4 bytes of shared memory, of which byte 24 was never written")           \
    X(missing_barrier, 1, 0, 32, 1, "race: ")                                                                     \
    X(missing_second_barrier, 1, 0, 32, 1, "race: ")                                                              \
    X(divergent_barrier, 1, 0, 32, 1, "deadlock, these wait for ever: ")                                          \
    X(misaligned_vector, 1, 0, 32, 1, "misaligned read: 16 bytes at ")                                            \
    X(write_a, 1, 0, 32, 1, "0]: only D may be written")                                                          \
    X(read_c, 1, 0, 32, 1, "0]: beta is 0, so C must not be read")                                                \
    X(read_d, 1, 0, 32, 1, "read of 4 bytes from D[")                                                             \
    X(two_ctas, M, 0, 32, 1, "race: write of D[")                                                                 \
    X(two_threads, M, 0, 32, 1, "6] that thread (")                                                               \
    X(shared_overflow, 1, 0, 32, 1, "write of 4 bytes at shared memory + 128 out of bounds: there are 128 bytes") \
    X(wild_pointer, 1, 0, 32, 1, "out of bounds: in no operand, nor in shared memory")                            \
    X(copy_not_awaited, 1, 0, 32, 1, "before an asynchronous copy to it was waited for")                          \
    X(copy_without_barrier, 1, 0, 32, 1, "shared memory + ")                                                      \
    X(copy_too_early, 1, 0, 32, 1, "shared memory + ")                                                            \
    X(copy_past_end, 1, 0, 32, 1, "read of 8 bytes at A[0, 6] out of bounds: rows of A have 7 elements")          \
    X(warp_sync_missing, 1, 0, 32, 1, "shared memory")                                                            \
    X(shuffle_absent_lane, 1, 0, 32, 1, "shfl.sync reads from a lane that takes no part")                         \
    X(warp_diverges, 1, 0, 32, 1, "deadlock, these wait for ever: 7 wait at")                                     \
    X(ldmatrix_misaligned, 1, 0, 32, 1, "misaligned read: 16 bytes at shared memory + ")                          \
    X(fragment_layout, 1, 0, 32, 1, "wmma: multiplied with another layout than it was loaded with")               \
    X(release_without_barrier, M, 0, 32, 1, "workspace + ")                                                       \
    X(read_without_acquire, M, 0, 32, 1, "workspace + ")                                                          \
    X(waits_for_ever, M, 0, 32, 1, "deadlock, these wait for ever: ")                                             \
    X(workspace_unwritten, M, 0, 32, 1, "read of 4 bytes at workspace + ")                                        \
    X(cluster_not_met, M, 2, 32, 1, "used before the cluster has met")                                            \
    X(cluster_left_early, M, 2, 32, 1, "may end while another one still reaches into its shared memory")          \
    X(cluster_race, M, 2, 32, 1, "race: ")                                                                        \
    X(cluster_no_such_rank, M, 2, 32, 1, "the cluster has no CTA of this rank")                                   \
    X(grid_not_awaited, 1, 1, 32, 1, "global memory is used before griddepcontrol.wait")                          \
    X(atomic_race, 1, 1, 32, 1, "race: ")

#define DECLARE(name, ctas, cluster, x, y, message)       \
    void planted_##name##_good(const tsr_gemm_args args); \
    void planted_##name##_bad(const tsr_gemm_args args);
PLANTED_BUGS(DECLARE)

typedef struct planted {
    const char *name;
    void (*good)(const tsr_gemm_args args), (*bad)(const tsr_gemm_args args);
    int ctas;
    int cluster; /* 0: none, and for any GPU */
    unsigned threads_x, threads_y;
    const char *message;
} planted;

static const planted bugs[] = {
#define ENTRY(name, ctas, cluster, x, y, message) \
    {#name, planted_##name##_good, planted_##name##_bad, ctas, cluster, x, y, message},
    PLANTED_BUGS(ENTRY)};
enum { BUG_COUNT = sizeof bugs / sizeof bugs[0] };

typedef struct matrices {
    float a[SLACK], b[SLACK], c[SLACK], d[SLACK], workspace[SLACK];
} matrices;

static void fill(matrices *m)
{
    for (int i = 0; i < SLACK; i++) {
        m->a[i] = (float)(i % 23);
        m->b[i] = (float)(i % 19);
        m->c[i] = (float)(i % 17);
        m->d[i] = -1;
        m->workspace[i] = 0;
    }
}

static tsr_status run_kernel(const planted *bug, int with_bug, matrices *m, unsigned long long seed, int workers)
{
    const tsr_gemm_args args = {.a = m->a,
                                .b = m->b,
                                .c = m->c,
                                .d = m->d,
                                .workspace = m->workspace,
                                .m = M,
                                .n = N,
                                .k = N,
                                .lda = LDA,
                                .ldb = N,
                                .ldc = LDC,
                                .ldd = LDD,
                                .batch = 1,
                                .alpha = 1,
                                .beta = 0};
    const tsr_emu_job job = {.name = bug->name,
                             .kernel = with_bug ? bug->bad : bug->good,
                             .args = &args,
                             .cluster = bug->cluster,
                             .arch = bug->cluster ? 90 : 80,
                             .is_dependent = strcmp(bug->name, "grid_not_awaited") == 0,
                             .dtype_a = TSR_F32,
                             .dtype_b = TSR_F32,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .grid = {bug->ctas, 1, 1},
                             .threads_x = bug->threads_x,
                             .threads_y = bug->threads_y,
                             .shared_bytes = strcmp(bug->name, "fragment_layout") == 0 ? 512 : THREADS * sizeof(float),
                             .workspace_bytes = sizeof m->workspace,
                             .seed = seed,
                             .workers = workers};
    return tsr_emu_run(&job);
}

/* 1 if the message names a line of the kernel that is marked as planted. */
static int names_planted_line(const char *name, const char *message)
{
    char path[1024], line[512], place[256];
    snprintf(path, sizeof path, "%s/%s.cu", PLANTED_FOLDER, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    int found = 0;
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        snprintf(place, sizeof place, "tests/emu/planted/%s.cu:%d", name, number);
        const char *at = strstr(message, place);
        if (strstr(line, "/* planted */") && at && (at[strlen(place)] < '0' || at[strlen(place)] > '9'))
            found = 1;
    }
    fclose(file);
    return found;
}

static void every_bug_is_caught(void **state)
{
    (void)state;
    matrices *m = malloc(sizeof *m);
    const int has_addr2line = system("addr2line --version > /dev/null 2>&1") == 0;
    for (int i = 0; i < BUG_COUNT; i++)
        for (unsigned long long seed = 0; seed < 8; seed++) {
            fill(m);
            assert_int_equal(run_kernel(&bugs[i], 1, m, seed, 2), TSR_KERNEL_FAULT);
            const char *message = tsr_last_error();
            if (seed == 0)
                print_message("%s\n", message);
            if (!strstr(message, bugs[i].message))
                fail_msg("%s: expected \"%s\" in: %s", bugs[i].name, bugs[i].message, message);
            char start[96];
            snprintf(start, sizeof start, "%s, CTA (", bugs[i].name);
            assert_int_equal(strncmp(message, start, strlen(start)), 0);
            if (has_addr2line && !names_planted_line(bugs[i].name, message))
                fail_msg("%s: the line is wrong: %s", bugs[i].name, message);
        }
    free(m);
}

static void without_the_bug_all_pass(void **state)
{
    (void)state;
    matrices *m = malloc(sizeof *m);
    for (int i = 0; i < BUG_COUNT; i++)
        for (unsigned long long seed = 0; seed < 8; seed++) {
            fill(m);
            if (run_kernel(&bugs[i], 0, m, seed, 2) != TSR_OK)
                fail_msg("%s: %s", bugs[i].name, tsr_last_error());
            for (int row = 0; row < M; row++)
                for (int col = 0; col < LDD; col++)
                    assert_true(m->d[row * LDD + col] == (col < N ? m->a[row * LDA + col] : -1.0f));
            for (int j = M * LDD; j < SLACK; j++)
                assert_true(m->d[j] == -1.0f);
        }
    free(m);
}

/* The message is the same for any number of workers: that of the lowest CTA. Races between CTAs are apart: which one
 * comes second is a matter of time. */
static void faults_do_not_depend_on_workers(void **state)
{
    (void)state;
    matrices *m = malloc(sizeof *m);
    char first[600];
    for (int i = 0; i < BUG_COUNT; i++) {
        if (bugs[i].ctas > 1)
            continue;
        for (int workers = 1; workers <= 5; workers += 2) {
            fill(m);
            assert_int_equal(run_kernel(&bugs[i], 1, m, 3, workers), TSR_KERNEL_FAULT);
            if (workers == 1)
                snprintf(first, sizeof first, "%s", tsr_last_error());
            assert_string_equal(first, tsr_last_error());
        }
    }
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bug_is_caught),
        cmocka_unit_test(without_the_bug_all_pass),
        cmocka_unit_test(faults_do_not_depend_on_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
