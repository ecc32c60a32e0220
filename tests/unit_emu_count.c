/* Counters of kernels that the library does not know, against numbers worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "emu/run_launch.h"
#include "lab/predict/count_cta.h"

/* Counts are whole numbers: exact. */
#define equal(found, wanted) equal_at(found, wanted, #found, __LINE__)
static void equal_at(double found, double wanted, const char *what, int line)
{
    if (found != wanted)
        fail_msg("line %d: %s is %.17g, not %.17g", line, what, found, wanted);
}

#define CASES(DO)  DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10)
#define DECLARE(n) void count_case_##n(const tsr_gemm_args args);
CASES(DECLARE)

typedef void kernel(const tsr_gemm_args args);

static void *begin(void *user, long long cta)
{
    lab_cta_count *count = calloc(1, sizeof *count);
    (void)user;
    assert_non_null(count);
    assert_int_equal(cta, 0);
    return count;
}

static void event(void *state, const tsr_watch_event *e)
{
    lab_cta_count_event(state, e);
}

static void barrier(void *state)
{
    lab_cta_count_barrier(state);
}

static void end(void *user, void *state)
{
    lab_cta_count *count = state;
    lab_cta_count_end(count);
    *(lab_counters *)user = count->sum;
    free(count);
}

static lab_counters count(kernel *entry, unsigned long long seed)
{
    static const tsr_allocator allocator;
    float *a = aligned_alloc(256, 4096 * sizeof *a), *d = aligned_alloc(256, 4096 * sizeof *d);
    memset(a, 0, 4096 * sizeof *a);
    const tsr_gemm_args args = {.a = a,
                                .b = a,
                                .d = d,
                                .m = 1,
                                .n = 4096,
                                .k = 4096,
                                .lda = 4096,
                                .ldb = 4096,
                                .ldd = 4096,
                                .batch = 1,
                                .alpha = 1,
                                .beta = 0};
    lab_counters sum = {0};
    const tsr_emu_watcher watcher = {.user = &sum, .begin = begin, .event = event, .barrier = barrier, .end = end};
    const tsr_emu_job job = {.name = "count",
                             .kernel = entry,
                             .args = &args,
                             .dtype_a = TSR_F32,
                             .dtype_b = TSR_F32,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .grid = {1, 1, 1},
                             .threads_x = 64,
                             .threads_y = 1,
                             .shared_bytes = 8192,
                             .seed = seed,
                             .workers = 1,
                             .allocator = &allocator,
                             .watcher = &watcher};
    if (tsr_emu_run(&job) != TSR_OK)
        fail_msg("%s", tsr_last_error());
    free(a);
    free(d);
    return sum;
}

static void check_load(const lab_counters *c, double requests, double sectors, double bytes)
{
    equal(c->load.requests, requests);
    equal(c->load.sectors, sectors);
    equal(c->load.bytes, bytes);
}

/* Of each warp: 10 iterations, each has lanes; 11 or 10 lanes, three floats apart, so all four sectors of 32 floats.
 * 7 i = i modulo 3, so i = 0, 3, 6, 9 take lanes 0, 3, ...: 11; i = 1, 4, 7: 2, 5, ...: 10; i = 2, 5, 8: 1, 4, ...: 11.
 */
static void every_third_lane(void **state)
{
    (void)state;
    const lab_counters c = count(count_case_1, 1);
    check_load(&c, 2 * 10, 2 * 10 * 4, 2 * (4 * 11 + 3 * 10 + 3 * 11) * 4);
    equal(c.fma_f32, 2 * 107);
    equal(c.warp_fma, 2 * 10);
    equal(c.store.requests, 2);
    equal(c.store.sectors, 8);
}

/* i = 0: 24 lanes, i = 1: 16, i = 2: 8 (3, 7, 11, ...), each in all four sectors; then all lanes together. */
static void loops_of_unequal_length(void **state)
{
    (void)state;
    const lab_counters c = count(count_case_2, 1);
    check_load(&c, 2 * 4, 2 * 16, 2 * (24 + 16 + 8 + 32) * 4);
    equal(c.warp_fma, 2 * 4);
}

/* Lanes 3, 7, ... and 1, 5, ...: 8 each, a sector for each lane; then 32 lanes in 4 sectors. */
static void nested_branches(void **state)
{
    (void)state;
    const lab_counters c = count(count_case_3, 1);
    check_load(&c, 2 * 3, 2 * (8 + 8 + 4), 2 * (8 + 8 + 32) * 4);
}

static void early_return(void **state)
{
    (void)state;
    const lab_counters c = count(count_case_4, 1);
    check_load(&c, 2, 4 + 2, 48 * 4);
    equal(c.store.requests, 2);
    equal(c.store.sectors, 4 + 2);
}

/* For each i the lanes with lane % 4 != i: 24 of them. Step j has the lanes from 8 j on: 24, 18, 12, 6 lanes in 4, 3,
 * 2, 1 sectors. */
static void continue_and_break(void **state)
{
    (void)state;
    const lab_counters c = count(count_case_5, 1);
    check_load(&c, 2 * 4 * 4, 2 * 4 * (4 + 3 + 2 + 1), 2 * 4 * (24 + 18 + 12 + 6) * 4);
}

/* Strides 1, 2, 4 words: 24 lanes store in 1, 2, 3 passes (with stride 4, 8 lanes go round the banks once); 16 lanes
 * load in 1, 1, 2 passes. 24 and 16 words need one pass. */
static void bank_conflicts(void **state)
{
    (void)state;
    const lab_counters c = count(count_case_6, 1);
    equal(c.shared_store.requests, 2 * 3);
    equal(c.shared_store.wavefronts, 2 * (1 + 2 + 3));
    equal(c.shared_store.conflicts, 2 * (0 + 1 + 2));
    equal(c.shared_load.requests, 2 * 3);
    equal(c.shared_load.wavefronts, 2 * (1 + 1 + 2));
    equal(c.shared_load.conflicts, 2);
    equal(c.barriers, 6);
}

/* Four loads a lane of one pass each; joined, one load of 16 bytes: four lanes in a row want the same, so quarters go
 * together in twos. */
static void joined_loads(void **state)
{
    (void)state;
    const lab_counters c = count(count_case_7, 1);
    equal(c.shared_load.requests, 2 * 4);
    equal(c.shared_load.wavefronts, 2 * 4);
    equal(c.shared_load_merged.requests, 2);
    equal(c.shared_load_merged.wavefronts, 2 * 2);
}

/* Of each warp: 11 lanes (0, 3, ..., 30) store a float each, 64 bytes apart: 11 sectors. The other 21 store 16 bytes
 * each: of two neighbours at least one, so all 16 sectors of 512 bytes. Then 32 floats in a row. */
static void scattered_and_wide_stores(void **state)
{
    (void)state;
    const lab_counters c = count(count_case_8, 1);
    equal(c.store.requests, 2 * 3);
    equal(c.store.sectors, 2 * (11 + 16 + 4));
    equal(c.store.bytes, 2 * (11 * 4 + 21 * 16 + 32 * 4));
    equal(c.load.requests, 0);
}

/* 2048 words are stored by 64 threads 32 times: a request and a pass of each warp. Then word 32 lane + i, all in bank
 * i. i = 0: all lanes but 3, 7, ...: 24 passes. i = 1: lanes 16 to 31 but those with lane % 4 == 2: 12 passes. Last:
 * odd lanes read word 33 lane, in bank `lane`, 16 banks; even ones words 0, 32, 64, 96, four of bank 0: 4 passes, of
 * which the first has the odd lanes with it. */
static void columns_of_shared_memory(void **state)
{
    (void)state;
    const lab_counters c = count(count_case_9, 1);
    equal(c.shared_store.requests, 2 * 32);
    equal(c.shared_store.wavefronts, 2 * 32);
    equal(c.shared_store.conflicts, 0);
    equal(c.shared_load.requests, 2 * 3);
    equal(c.shared_load.wavefronts, 2 * (24 + 12 + 4));
    equal(c.shared_load.conflicts, 2 * (23 + 11 + 3));
    equal(c.barriers, 1);
}

/* Lane l reads 8 bytes at 8 + 8 l of 512 i. i = 0: all lanes, bytes 8 to 264: 9 sectors, since the last lane reaches
 * into the ninth. i = 1 and 2: lanes from 6 and from 12 on, bytes 56 and 104 to 264: sectors 1 to 8 and 3 to 8, 8
 * and 6. i = 3: even lanes from 18 on (odd ones leave), from byte 152 on: lanes 18, 20, ..., 30 at bytes 152, 168, ...,
 * 248: sectors 4, 5, 5, 6, 6, 7, 7: 4. i = 4: even lanes from 24 on at bytes 200, 216, 232, 248: sectors 6, 6, 7, 7: 2.
 * i = 5: lane 30 at byte 248: 1. */
static void loops_with_several_exits(void **state)
{
    (void)state;
    const lab_counters c = count(count_case_10, 1);
    check_load(&c, 2 * 6, 2 * (9 + 8 + 6 + 4 + 2 + 1), 2 * (32 + 26 + 20 + 7 + 4 + 1) * 8);
    equal(c.warp_fma, 2 * 6);
    equal(c.fma_f32, 2 * (32 + 26 + 20 + 7 + 4 + 1));
}

static void threads_in_any_order(void **state)
{
    (void)state;
#define CASE(n) count_case_##n,
    kernel *const kernels[] = {CASES(CASE)};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        const lab_counters first = count(kernels[i], 0);
        for (unsigned long long seed = 1; seed < 20; seed++) {
            const lab_counters other = count(kernels[i], seed);
            assert_memory_equal(&first, &other, sizeof first);
        }
    }
}

/* ---- one instruction ---- */

static lab_wavefronts passes(unsigned bytes, uint32_t lanes, uint64_t (*offset)(unsigned lane))
{
    uint64_t offsets[32];
    lab_banks *banks = malloc(sizeof *banks);
    for (unsigned i = 0; i < 32; i++)
        offsets[i] = offset(i);
    const lab_wavefronts found = lab_warp_wavefronts(offsets, lanes, bytes, banks);
    free(banks);
    return found;
}

static uint64_t same(unsigned lane)
{
    (void)lane;
    return 64;
}
static uint64_t row4(unsigned lane)
{
    return lane * 4;
}
static uint64_t row8(unsigned lane)
{
    return lane * 8;
}
static uint64_t row16(unsigned lane)
{
    return lane * 16;
}
static uint64_t column(unsigned lane)
{
    return lane * 128;
}
static uint64_t padded_column(unsigned lane)
{
    return lane * 132;
}
static uint64_t pairs16(unsigned lane)
{
    return lane / 2 * 16;
}

static void wavefronts_of_one_instruction(void **state)
{
    (void)state;
    const uint32_t all = 0xffffffffu;
    assert_int_equal(passes(4, all, same).count, 1);
    assert_int_equal(passes(4, all, row4).count, 1);
    assert_int_equal(passes(4, all, column).count, 32);
    assert_int_equal(passes(4, all, column).ideal, 1);
    assert_int_equal(passes(4, all, padded_column).count, 1);
    assert_int_equal(passes(4, 0xff, column).count, 8);
    assert_int_equal(passes(8, all, row8).count, 2);
    assert_int_equal(passes(8, all, same).count, 1);
    assert_int_equal(passes(16, all, row16).count, 4);
    assert_int_equal(passes(16, all, same).count, 2);
    assert_int_equal(passes(16, all, pairs16).count, 2);
    assert_int_equal(passes(16, 0xff, row16).count, 1);
    assert_int_equal(passes(2, all, same).count, 1);
}

static void sectors_of_one_instruction(void **state)
{
    (void)state;
    uint64_t address[32], out[LAB_WARP_SECTORS];
    for (unsigned i = 0; i < 32; i++)
        address[i] = 4096 + i * 4;
    assert_int_equal(lab_warp_sectors(address, 0xffffffffu, 4, out), 4);
    assert_int_equal(out[0], 128);
    assert_int_equal(lab_warp_sectors(address, 0x80000001u, 4, out), 2);
    for (unsigned i = 0; i < 32; i++)
        address[i] += 4; /* not aligned to a sector any more */
    assert_int_equal(lab_warp_sectors(address, 0xffffffffu, 4, out), 5);
    for (unsigned i = 0; i < 32; i++)
        address[i] = i % 2 ? 0 : 4096 + i * 64;
    assert_int_equal(lab_warp_sectors(address, 0xffffffffu, 16, out), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_third_lane),
        cmocka_unit_test(loops_of_unequal_length),
        cmocka_unit_test(nested_branches),
        cmocka_unit_test(early_return),
        cmocka_unit_test(continue_and_break),
        cmocka_unit_test(bank_conflicts),
        cmocka_unit_test(joined_loads),
        cmocka_unit_test(scattered_and_wide_stores),
        cmocka_unit_test(columns_of_shared_memory),
        cmocka_unit_test(loops_with_several_exits),
        cmocka_unit_test(threads_in_any_order),
        cmocka_unit_test(wavefronts_of_one_instruction),
        cmocka_unit_test(sectors_of_one_instruction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
