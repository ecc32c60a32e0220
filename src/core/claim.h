/* Work that the first who needs it does, for all that come later: pthread_once, but the child of a fork does again what
 * one of its parent's threads had begun. */
#ifndef TSR_CORE_CLAIM_H
#define TSR_CORE_CLAIM_H

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "core/process.h"

/* 0: nobody has begun; TSR_CLAIM_DONE; else the process that is at it. */
typedef atomic_int tsr_claim;
enum { TSR_CLAIM_DONE = -1 };

/* 1: the caller is to do the work and then to call tsr_claim_end. 0: it is done, and seen to be. Waits for another
 * thread that is at it: soon asleep, since a real-time thread that yields leaves that one no processor. */
static inline int tsr_claim_begin(tsr_claim *claim)
{
    enum { YIELDS = 100, PAUSE_NS = 100000 };
    const struct timespec pause = {0, PAUSE_NS};
    for (int looks = 0;; looks++) {
        int seen = atomic_load_explicit(claim, memory_order_acquire);
        if (seen == TSR_CLAIM_DONE)
            return 0;
        const int own = tsr_process();
        if (seen != own && atomic_compare_exchange_strong(claim, &seen, own))
            return 1;
        if (looks < YIELDS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
}

static inline void tsr_claim_end(tsr_claim *claim)
{
    atomic_store_explicit(claim, TSR_CLAIM_DONE, memory_order_release);
}

#endif
