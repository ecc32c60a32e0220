/* An answer compared with the reference, element by element against the bound of the kernel that gave it. */
#ifndef LAB_ANSWER_H
#define LAB_ANSWER_H

#include "tessera.h"

typedef struct lab_answer {
    int64_t elements; /* of D */
    int64_t checked;  /* of elements */
    int64_t failed;   /* of checked */
    int64_t unbound;  /* of checked: what becomes of a sum that overflowed on its way, as it may have; not judged */
    /* The element nearest to its bound, or furthest beyond; ratio is error / bound, infinite where one of value and
     * reference is NaN or infinite and the other is not the same. */
    int64_t row, column;
    double value, reference, error, bound, ratio;
    /* Over all that were checked and have a bound: the largest error, and the largest error over its reference, which
     * is large where a sum nearly cancels. References of 0 do not count for the latter. */
    double max_error, max_relative;
} lab_answer;

/* Checks D of one finished problem, not a batch: `args` are host operands as they went into the run of `desc` by the
 * kernel `instance`; C must still hold what it held. The bound is c * u * (|alpha| |A||B| + |beta C| + |bias|), with
 * the unit roundoff u of the config's accumulator, plus half a unit in the last place of D, plus what K products add
 * that are each rounded to the accumulator's smallest numbers, where u bounds nothing. c is the config's, which holds
 * for the verifier's own operands, of both signs, and any K; where sums are in f32 or f64 it is 2 sqrt(K) at least, as
 * their roundings add up like a random walk (Higham and Mary, "A new approach to probabilistic rounding error
 * analysis", 2019). Where hardly anything cancels, sums only grow, and roundings may all go one way, as those of equal
 * numbers and of tensor cores, which cut, do: K / 2 of them are added then, which is little beside a value as large as
 * |A||B|. In tf32 the config's c is of the operands' roundings, and the sums' are added in units of f32's. A sum that
 * may have left the accumulator's range, before alpha or behind it, may be infinite, or NaN where it may have done so
 * on both sides; a number is judged as elsewhere. All elements
 * are checked where that takes about `budget` multiply-adds at most; else those where sampled rows and columns cross,
 * one of each in every band of D, the first and last among them; `seed` decides. TSR_OK even if elements failed. */
tsr_status lab_check_answer(const tsr_gemm_desc *desc, const tsr_run_args *args, const char *instance, double budget,
                            uint64_t seed, lab_answer *out);

#endif
