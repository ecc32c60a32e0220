/* Two measurements of one thing, at different times. */
#ifndef LAB_VERDICT_H
#define LAB_VERDICT_H

#include "lab/bench/report.h"
#include "lab/common/stats.h"

typedef enum lab_verdict { LAB_FASTER, LAB_SLOWER, LAB_SAME, LAB_UNDECIDED } lab_verdict;

const char *lab_verdict_text(lab_verdict verdict);

/* Differences within this are "same": runs of one binary, minutes apart, differ by as much. */
#define LAB_SAME_WITHIN 0.03

/* `speed` is new speed over old with its interval. Same: the whole interval is within LAB_SAME_WITHIN of 1. Faster,
 * slower: the whole interval is above, below 1. Otherwise undecided, as when there is no interval. */
lab_verdict lab_decide_speed(lab_interval speed);

typedef struct lab_comparison {
    lab_interval speed; /* new speed over old */
    int by_peer;        /* relative to the peer, which was measured both times and takes out what changed around us */
    lab_verdict verdict;
} lab_comparison;

/* Both lines are of the same kernel, device and problem. Where both have the same peer with intervals, its ratios are
 * compared, otherwise the times: the new median with its interval, and the old one give or take 1.96 standard errors of
 * a median of old->rounds rounds, 1.2533 x spread / sqrt(rounds); where the old line does not say how many, `rounds`.
 */
lab_comparison lab_compare(const lab_record *old, const lab_record *new, lab_interval new_time_us, size_t rounds);

#endif
