/* Device-neutral timing: two marks around many calls, the time between them, and the clocks while they ran. A timer is
 * used by one thread at a time. */
#ifndef LAB_TIMER_H
#define LAB_TIMER_H

#include "tessera.h"

/* Clock and power now; NAN where the machine does not tell. */
typedef struct lab_clocks {
    double clock_mhz; /* of the cores that compute */
    double power_w;   /* of the whole device */
} lab_clocks;

/* One way to time, for one kind of device. */
typedef struct lab_timer_ops {
    const char *kind; /* "cpu", "cuda" */
    /* Timer of device `ordinal`; *state is the implementation's own. TSR_NO_DEVICE or TSR_UNSUPPORTED with the reason.
     */
    tsr_status (*open)(int ordinal, void **state);
    void (*close)(void *state);
    /* Marks this point of `stream` (CPU: of the thread). May wait for earlier work, never waits in the middle of a
     * measurement: begin, the calls to be timed, end. */
    tsr_status (*begin)(void *state, void *stream);
    /* Marks the end, waits until it is reached and gives the time since begin. */
    tsr_status (*end)(void *state, void *stream, double *elapsed_ns);
    /* Cheap enough for once a round; called outside begin and end. */
    void (*sample)(void *state, lab_clocks *out);
    /* Captured work, so that launches cost the host nothing; NULL on a CPU. What is enqueued on the timer's own stream
     * between record and recorded is not run but becomes *tape (NULL if that failed), which replay enqueues there. */
    void *(*stream)(void *state);
    tsr_status (*record)(void *state);
    tsr_status (*recorded)(void *state, void **tape);
    tsr_status (*replay)(void *state, void *tape);
    void (*drop)(void *state, void *tape);
} lab_timer_ops;

extern const lab_timer_ops lab_timer_cpu_ops, lab_timer_cuda_ops;

typedef struct lab_timer {
    const lab_timer_ops *ops;
    void *state;
} lab_timer;

/* The timer for a device by name: "cuda:N" gets device events, "cpu" and "emu" the monotonic clock. */
tsr_status lab_timer_open(const char *device, lab_timer *out);
void lab_timer_close(lab_timer *timer);

/* Monotonic nanoseconds since some fixed point, and the CPU clock and power as the system files tell them. */
double lab_now_ns(void);
void lab_cpu_clocks(lab_clocks *out);

#endif
