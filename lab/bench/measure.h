/* Contestants, timed in interleaved rounds in one process: each round times every contestant once, so that drifts of
 * clock and temperature strike all of them alike and ratios may be taken round by round. */
#ifndef LAB_MEASURE_H
#define LAB_MEASURE_H

#include <signal.h>

#include "lab/common/operands.h"
#include "lab/common/timer.h"

/* One call of whatever is measured, on one set of operands. */
typedef tsr_status lab_call(void *user, const lab_operand_set *set);

typedef struct lab_contestant {
    lab_call *call;
    void *user;
    /* Results. */
    double *round_ns;  /* time of one call, for each round; owned, freed by lab_contestant_clear */
    size_t rounds;     /* how many there are; fewer than asked for when the time ran out */
    long long calls;   /* calls in each round */
    void *tape;        /* captured work: some of these calls; owned, gone after lab_measure */
    long long replays; /* of the tape in each round */
    lab_clocks clocks; /* means over its rounds */
    tsr_status status; /* of the call that failed; then rounds may be 0 */
    char message[256];
} lab_contestant;

typedef struct lab_measure_options {
    lab_timer *timer;
    void *stream;
    int captured;     /* time replays of a captured graph of calls instead of calls; needs the timer's stream */
    size_t rounds;    /* at most */
    double round_ns;  /* aimed length of one contestant's share of a round: short calls are repeated to fill it */
    double warm_ns;   /* warm-up at most this long; ends earlier when times have settled */
    double budget_ns; /* of one contestant; a slow one gets fewer rounds, but always one */
    /* Before each turn: wait this long, then make one call that is not timed. Worker threads of CPU libraries spin for
     * a while after a call, and would take cores from whoever comes next. 0: neither. */
    double pause_ns;
    const volatile sig_atomic_t *stop; /* non-zero: finish the call and return what there is; may be NULL */
} lab_measure_options;

/* Fills the results of all contestants. A contestant whose call fails is left out from then on; that is no error of the
 * measurement. TSR_OUT_OF_MEMORY, or a timer's error. */
tsr_status lab_measure(const lab_measure_options *options, const lab_operands *operands, lab_contestant *contestants,
                       size_t count);
void lab_contestant_clear(lab_contestant *contestant);

#endif
