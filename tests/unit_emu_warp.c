/* Votes, matches, shuffles and reductions of warps (kernels/ptx/vote.h, shuffle.h, redux.h) against what the PTX ISA
 * says of "vote.sync", "match.sync", "shfl.sync", "redux.sync" and "activemask", on random and special operands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emu/run_launch.h"
#include "twins/operands.h"

typedef void kernel(const tsr_gemm_args args);
kernel warp_votes, warp_matches, warp_shuffles, warp_redux_1, warp_redux_2, emu_test_active;

enum { THREADS = 128, EACH = 4, WORDS = THREADS * EACH };

/* The operands of a lane and its result, by instruction. */
typedef struct lanes {
    uint32_t a[32], c[32];
    unsigned lane, mask; /* of those that take part */
} lanes;

typedef uint32_t answer(const lanes *x, int instruction);

static uint32_t with_flag(uint32_t result, int flag)
{
    return result ^ (flag ? 0x9e3779b9u : 0);
}

/* The lanes of the mask whose predicate holds. */
static uint32_t ballot(const lanes *x, uint32_t bits)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < 32; i++)
        if ((x->mask >> i & 1) && (x->a[i] & bits) != 0)
            result |= 1u << i;
    return result;
}

static uint32_t vote(const lanes *x, int instruction)
{
    const uint32_t low = ballot(x, 1);
    switch (instruction) {
    case 0:
        return ballot(x, 3) == x->mask;
    case 1:
        return ballot(x, 0xffffffff) != 0;
    case 2:
        return low == 0 || low == x->mask;
    default:
        return low;
    }
}

static uint64_t key(const lanes *x, unsigned lane, int instruction)
{
    const uint64_t a = x->a[lane];
    return instruction == 1 ? a | (uint64_t)(x->c[lane] & 1) << 32 : instruction == 3 ? a | a << 32 : a;
}

static uint32_t match(const lanes *x, int instruction)
{
    uint32_t equal = 0;
    for (unsigned i = 0; i < 32; i++)
        if ((x->mask >> i & 1) && key(x, i, instruction) == key(x, x->lane, instruction))
            equal |= 1u << i;
    if (instruction < 2)
        return equal;
    return with_flag(equal == x->mask ? x->mask : 0, equal == x->mask);
}

/* The ISA's own pseudocode, in its names. */
static uint32_t shuffle(const lanes *x, int mode)
{
    const uint32_t b = x->c[x->lane], c = x->c[x->lane] >> 16;
    const int lane = (int)x->lane, bval = (int)(b & 31), cval = (int)(c & 31), segmask = (int)(c >> 8 & 31);
    const int max_lane = (lane & segmask) | (cval & ~segmask), min_lane = lane & segmask;
    int j, pval;
    switch (mode) {
    case 0:
        j = min_lane | (bval & ~segmask);
        pval = j <= max_lane;
        break;
    case 1:
        j = lane - bval;
        pval = j >= max_lane;
        break;
    case 2:
        j = lane + bval;
        pval = j <= max_lane;
        break;
    default:
        j = lane ^ bval;
        pval = j <= max_lane;
        break;
    }
    return with_flag(x->a[pval ? j : lane], pval);
}

static uint32_t reduce(const lanes *x, int operation)
{
    uint64_t sum = 0;
    uint32_t least = UINT32_MAX, most = 0, all = UINT32_MAX, some = 0, odd = 0;
    int32_t lowest = INT32_MAX, highest = INT32_MIN;
    for (unsigned i = 0; i < 32; i++) {
        if (!(x->mask >> i & 1))
            continue;
        const uint32_t value = x->a[i];
        int32_t number;
        memcpy(&number, &value, sizeof number);
        sum += value;
        least = value < least ? value : least;
        most = value > most ? value : most;
        lowest = number < lowest ? number : lowest;
        highest = number > highest ? number : highest;
        all &= value;
        some |= value;
        odd ^= value;
    }
    const uint32_t results[] = {(uint32_t)sum, least, most, (uint32_t)lowest, (uint32_t)highest, all, some, odd};
    return results[operation];
}

static uint32_t reduce_2(const lanes *x, int operation)
{
    return reduce(x, 4 + operation);
}

static void run(kernel *function, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d,
                unsigned long long seed)
{
    const tsr_gemm_args args = {.a = a,
                                .b = b,
                                .c = c,
                                .d = d,
                                .m = 1,
                                .n = WORDS,
                                .k = WORDS,
                                .lda = WORDS,
                                .ldb = WORDS,
                                .ldc = WORDS,
                                .ldd = WORDS,
                                .batch = 1,
                                .alpha = 1,
                                .beta = 1,
                                .trans_b = 1};
    const tsr_emu_job job = {.name = "warp",
                             .kernel = function,
                             .args = &args,
                             .arch = 80,
                             .dtype_a = TSR_F32,
                             .dtype_b = TSR_F32,
                             .dtype_c = TSR_F32,
                             .dtype_d = TSR_F32,
                             .grid = {1, 1, 1},
                             .threads_x = THREADS,
                             .threads_y = 1,
                             .seed = seed,
                             .workers = 1};
    if (tsr_emu_run(&job) != TSR_OK)
        fail_msg("%s", tsr_last_error());
}

/* `all`: every lane takes part, whatever B says. */
static void compare(const char *name, kernel *function, answer *expected, int all)
{
    static twin_case x;
    static uint32_t d[WORDS];
    const twin_format words = {40, 32, 0, 0, 0};
    for (int number = 0; number < 60; number++) {
        twin_make(&words, number, &x);
        run(function, x.a, x.b, x.c, d, (unsigned long long)number);
        for (unsigned thread = 0; thread < THREADS; thread++)
            for (int i = 0; i < EACH; i++) {
                const unsigned lane = thread % 32, part = x.b[thread / 32];
                lanes own = {.lane = lane, .mask = all ? 0xffffffffu : part >> lane & 1 ? part : ~part};
                for (unsigned j = 0; j < 32; j++) {
                    own.a[j] = x.a[(thread / 32 * 32 + j) * EACH + (unsigned)i];
                    own.c[j] = x.c[(thread / 32 * 32 + j) * EACH + (unsigned)i];
                }
                if (d[thread * EACH + (unsigned)i] != expected(&own, i))
                    fail_msg("%s, case %d, thread %u, word %d: %08x, not %08x", name, number, thread, i,
                             d[thread * EACH + (unsigned)i], expected(&own, i));
            }
    }
}

static void lanes_vote(void **state)
{
    (void)state;
    compare("votes", warp_votes, vote, 0);
}

static void lanes_match(void **state)
{
    (void)state;
    compare("matches", warp_matches, match, 0);
}

static void lanes_shuffle(void **state)
{
    (void)state;
    compare("shuffles", warp_shuffles, shuffle, 1);
}

static void lanes_reduce(void **state)
{
    (void)state;
    compare("redux, first half", warp_redux_1, reduce, 0);
    compare("redux, second half", warp_redux_2, reduce_2, 0);
}

/* Widths as __shfl_sync takes them: parts that wrap or end. */
static void segments_are_parts_of_a_warp(void **state)
{
    (void)state;
    static uint32_t a[WORDS], b[WORDS], c[WORDS], d[WORDS];
    for (unsigned width = 1; width <= 32; width *= 2) {
        const uint32_t parts = (32 - width) << 8;
        for (unsigned i = 0; i < WORDS; i++) {
            a[i] = 1000 + i / EACH % 32;
            c[i] = (i % EACH == 1 ? parts : parts | 31) << 16 | 3;
        }
        run(warp_shuffles, a, b, c, d, width);
        for (unsigned lane = 0; lane < 32; lane++) {
            const unsigned start = lane / width * width, inside = lane % width;
            const unsigned from[EACH] = {start + 3 % width, inside >= 3 ? lane - 3 : lane,
                                         inside + 3 < width ? lane + 3 : lane, lane ^ 3};
            /* A butterfly may reach into lower parts only. */
            const unsigned butterfly = (lane ^ 3) < start + width ? lane ^ 3 : lane;
            for (int i = 0; i < EACH; i++) {
                const int moves = i == 0 || (i == 1 ? inside >= 3 : i == 2 ? inside + 3 < width : butterfly != lane);
                const uint32_t value = 1000 + (i == 3 ? butterfly : from[i]);
                assert_int_equal(d[lane * EACH + (unsigned)i], with_flag(value, moves));
            }
        }
    }
}

/* Lanes that see each other active agree on the set, belong to it, and went the same way. */
static void active_lanes_agree(void **state)
{
    (void)state;
    static uint32_t a[WORDS], b[WORDS], c[WORDS], d[WORDS];
    unsigned largest = 0;
    for (unsigned long long seed = 0; seed < 40; seed++) {
        for (int i = 0; i < WORDS; i++)
            a[i] = (uint32_t)(i * 7 + (int)seed) % 3;
        run(emu_test_active, a, b, c, d, seed);
        for (unsigned thread = 0; thread < THREADS; thread++) {
            const uint32_t mask = d[thread];
            assert_true(mask >> thread % 32 & 1);
            for (unsigned lane = 0; lane < 32; lane++)
                if (mask >> lane & 1) {
                    assert_int_equal(d[thread / 32 * 32 + lane], mask);
                    assert_int_equal(a[thread / 32 * 32 + lane], a[thread]);
                }
            const unsigned size = (unsigned)__builtin_popcount(mask);
            largest = size > largest ? size : largest;
        }
    }
    assert_true(largest > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_vote),         cmocka_unit_test(lanes_match),
        cmocka_unit_test(lanes_shuffle),      cmocka_unit_test(lanes_reduce),
        cmocka_unit_test(active_lanes_agree), cmocka_unit_test(segments_are_parts_of_a_warp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
