/* A call is no cancellation point: its thread, cancelled (pthread_cancel) within it, would leave locks held and work
 * begun that others wait for. Not on the small path, which takes no lock and waits for nobody. */
#ifndef TSR_CORE_UNCANCELLED_H
#define TSR_CORE_UNCANCELLED_H

#include <pthread.h>

static inline int tsr_uncancelled_begin(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void tsr_uncancelled_end(const int *before)
{
    pthread_setcancelstate(*before, NULL);
}

/* From here to the end of the block the calling thread is not cancelled. */
#define TSR_UNCANCELLED() \
    __attribute__((cleanup(tsr_uncancelled_end), unused)) const int tsr_cancel_state = tsr_uncancelled_begin()

#endif
