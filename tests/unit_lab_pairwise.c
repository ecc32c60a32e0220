/* Covers really hold all pairs, and are small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab/verify/pairwise.h"

static void assert_covers(const int *levels, int factors, const lab_cover *cover)
{
    for (size_t r = 0; r < cover->count; r++)
        for (int f = 0; f < factors; f++)
            assert_in_range(cover->rows[r][f], 0, levels[f] - 1);
    for (int f = 0; f < factors; f++)
        for (int g = f + 1; g < factors; g++)
            for (int i = 0; i < levels[f]; i++)
                for (int j = 0; j < levels[g]; j++) {
                    int found = 0;
                    for (size_t r = 0; r < cover->count; r++)
                        found |= cover->rows[r][f] == i && cover->rows[r][g] == j;
                    assert_true(found);
                }
}

static void check(const int *levels, int factors, size_t at_least, size_t at_most)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        lab_cover cover;
        assert_int_equal(lab_pairwise(levels, factors, seed, &cover), TSR_OK);
        assert_covers(levels, factors, &cover);
        assert_in_range(cover.count, at_least, at_most);
        lab_cover_free(&cover);
    }
}

static void small_covers(void **state)
{
    (void)state;
    check((int[]){3}, 1, 3, 3);
    check((int[]){3, 4}, 2, 12, 12);
    check((int[]){1, 1, 1}, 3, 1, 1);
    check((int[]){2, 2, 2, 2}, 4, 4, 7);
    check((int[]){3, 3, 3, 3}, 4, 9, 13);
    check((int[]){16, 16}, 2, 256, 256);
}

static void cover_of_many_factors(void **state)
{
    (void)state;
    int levels[LAB_FACTORS_MAX];
    for (int f = 0; f < LAB_FACTORS_MAX; f++)
        levels[f] = 2 + f % 5;
    check(levels, LAB_FACTORS_MAX, 36, 75);
}

static void seeds_differ(void **state)
{
    (void)state;
    const int levels[] = {4, 4, 4, 4, 4, 4};
    lab_cover a, b, c;
    assert_int_equal(lab_pairwise(levels, 6, 1, &a), TSR_OK);
    assert_int_equal(lab_pairwise(levels, 6, 1, &b), TSR_OK);
    assert_int_equal(lab_pairwise(levels, 6, 2, &c), TSR_OK);
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.rows, b.rows, a.count * sizeof *a.rows);
    assert_true(a.count != c.count || memcmp(a.rows, c.rows, a.count * sizeof *a.rows) != 0);
    lab_cover_free(&a);
    lab_cover_free(&b);
    lab_cover_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_covers),
        cmocka_unit_test(cover_of_many_factors),
        cmocka_unit_test(seeds_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
