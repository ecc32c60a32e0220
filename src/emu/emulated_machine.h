/* The emulated machine: a launch is run by workers (CPU threads), each of which keeps a few CTAs resident, each of
 * which has one fiber per thread. Private to src/emu. */
#ifndef TSR_EMU_MACHINE_H
#define TSR_EMU_MACHINE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/config.h"
#include "emu/align.h"
#include "emu/atomic.h"
#include "emu/copy.h"
#include "emu/fault.h"
#include "emu/fiber.h"
#include "emu/global.h"
#include "emu/hopper.h"
#include "emu/listen.h"
#include "emu/run_launch.h"
#include "emu/shared.h"
#include "emu/slot.h"
#include "emu/trace.h"
#include "ptx/emulator.h"

enum { EMU_MAX_WORKERS = 256 };

typedef struct emu_cta emu_cta;
typedef struct emu_worker emu_worker;
typedef struct emu_launch emu_launch;

typedef enum emu_state { EMU_READY, EMU_AT_BARRIER, EMU_AT_WARP, EMU_AT_NAMED, EMU_ELSEWHERE, EMU_ENDED } emu_state;

enum {
    EMU_STACK_BYTES = 64 << 10,
    EMU_STACK_STRIDE =
        68 << 10, /* not a power of two, and tops apart by odd lines: else all stacks share few cache sets */
    EMU_STACK_RESERVE = 16 << 10 /* kept free below a kernel's frame for the emulator's own functions */
};
#define EMU_STACK_COLOUR(i) ((i)*9 % 64 * 64)

/* One thread of a CTA. */
typedef struct emu_thread {
    tsr_fiber fiber;
    emu_cta *cta;
    unsigned id;   /* in the slot: x + y * blockDim.x + rank * threads of a CTA */
    unsigned rank; /* of its CTA in the cluster */
    size_t window; /* where its CTA's shared memory starts in the slot's */
    tsr_emu_uint3 idx;
    emu_state state;
    const void *place; /* return address of the call in which it waits */
    emu_clock clock;

    /* EMU_AT_WARP: what the lanes in warp_mask do together. */
    unsigned warp_mask;
    tsr_emu_warp_function *warp_function;
    void *warp_operands;

    emu_copies copies;

    unsigned named_id; /* EMU_AT_NAMED: in the slot */

    const void *active_place; /* it waits for others at activemask; NULL: it does not */
    unsigned active_mask;

    const unsigned *polled_word; /* what it saw when it last polled */
    unsigned polled_value;

    emu_thread_hopper *hopper; /* NULL in kernels for older GPUs */
    struct emu_thread *next_waiting;
} emu_thread;

/* All copies that the thread started with cp.async land (emu/copy.c). */
void tsr_emu_copies_land(emu_thread *thread);

/* Of a CTA: 0 is the barrier of all its threads, used so where it is one of a cluster. */
enum { EMU_NAMED_BARRIERS = 16, EMU_MAX_CLUSTER = EMU_CLUSTER_CTAS };

/* A barrier of some warps: who came since it was last complete, and what they have seen. */
typedef struct emu_named {
    unsigned arrived, expected;
    emu_seen *board;
} emu_named;

/* One resident CTA, or cluster of CTAs: then its threads are those of all, its shared memory has a window for each, and
 * the clocks order all its threads. The slot is reused from CTA to CTA. */
struct emu_cta {
    emu_shape shape; /* of its memory */
    emu_worker *worker;
    long long number; /* in the grid, x fastest; of clusters, where there are some */
    tsr_emu_uint3 idx;
    emu_shared shared;
    size_t window_bytes; /* shared memory of one CTA */
    emu_thread *threads;
    unsigned char *stacks;
    unsigned live;    /* threads that have not ended */
    unsigned waiting; /* at the barrier */
    emu_named named[EMU_MAX_CLUSTER * EMU_NAMED_BARRIERS];
    uint32_t warps[TSR_EMU_MAX_SLOT_THREADS / 32]; /* lanes in state EMU_AT_WARP */
    uint16_t *ready;                               /* ids of threads that may go on, a ring of n_threads entries */
    unsigned ready_first, ready_count;
    unsigned polls; /* that saw nothing new, one after the other */
    uint64_t random;
    emu_far far;
    emu_cta_hopper *hopper;           /* NULL in kernels for older GPUs */
    tsr_emu_trace *trace;             /* NULL: what the CTA does is not recorded */
    const tsr_emu_listener *listener; /* NULL: nobody listens */
    int is_followed;                  /* one of both is there: no access may go unseen */
    struct emu_watch *watch;          /* NULL: nobody watches the launch */
    emu_cta *next;                    /* in the worker's list of resident or of free slots */
};

/* One CPU thread of a launch. */
struct emu_worker {
    emu_launch *launch;
    tsr_fiber scheduler;      /* the worker's own stack */
    emu_cta *resident, *free; /* slots */
    atomic_llong idle_at;     /* the launch's progress when all resident CTAs were last found waiting; -1: never */
    emu_global global;
    emu_fault fault;   /* the first that this worker met */
    char waiting[256]; /* of a deadlock: where the threads are */
};

struct emu_launch {
    const tsr_emu_job *job;
    emu_shape shape;  /* of its slots */
    long long n_ctas; /* slots of the grid */
    atomic_llong next_cta;
    atomic_llong stop_at; /* CTAs from this number on need not run: an earlier one failed */
    atomic_llong n_resident;
    long long max_resident;
    atomic_llong progress; /* grows whenever something happens that a waiting CTA may wait for */
    emu_worker *workers;
    int n_workers;
    emu_claims claims;
    emu_atomics atomics;
};

/* The thread of a kernel that runs on this CPU thread; NULL outside of kernels. Every access of a kernel asks. A
 * library may be opened when the loader has no static thread-local memory left, so initial-exec variables are out of
 * the question, and asking the loader each time would cost half of the speed. So workers leave the variable's distance
 * from their thread pointers here, where it is the same for all of them so far: in static memory it always is. */
extern _Thread_local emu_thread *tsr_emu_current __attribute__((visibility("hidden")));
extern atomic_intptr_t tsr_emu_current_at __attribute__((visibility("hidden"))); /* EMU_ASK_LOADER: not so */
enum { EMU_ASK_LOADER = 0, EMU_NOT_KNOWN = 1 };                                  /* no distance is odd */
emu_thread *tsr_emu_ask_loader(void);
/* To be called by each CPU thread before it runs kernels. */
void tsr_emu_find_current(void);

#if defined(__x86_64__) && defined(__ELF__)
static inline __attribute__((always_inline)) emu_thread *tsr_emu_self(void)
{
    const intptr_t at = atomic_load_explicit(&tsr_emu_current_at, memory_order_relaxed);
    emu_thread *self;
    if (__builtin_expect(at == EMU_ASK_LOADER, 0))
        return tsr_emu_ask_loader();
    __asm__ volatile("mov %%fs:(%1), %0" : "=r"(self) : "r"(at));
    return self;
}
#else
static inline emu_thread *tsr_emu_self(void)
{
    return tsr_emu_current;
}
#endif

/* schedule.c ------------------------------------------------------------------------------------------------------- */

/* Puts CTA `number` in the slot. */
void tsr_emu_start_cta(emu_cta *cta, long long number);

/* No named barrier is under way: a new CTA, or the slot's end. */
void tsr_emu_reset_named(emu_cta *cta);

/* Runs the CTA until all its threads have ended (live is 0), all of them wait for other CTAs, or a fault is in
 * worker->fault. */
void tsr_emu_run_cta(emu_cta *cta);

/* Says in *fault where the threads of a CTA wait that cannot go on. */
void tsr_emu_describe_deadlock(const emu_cta *cta, emu_fault *fault);

/* Something new happened in the CTA. */
static inline void tsr_emu_progress(emu_cta *cta)
{
    cta->polls = 0;
    atomic_fetch_add_explicit(&cta->worker->launch->progress, 1, memory_order_release);
}

/* Stops the current thread, whose state says for what it waits, and runs whoever is next. Comes back when it is READY
 * and its turn. */
void tsr_emu_wait(emu_thread *self);

/* The thread may go on. */
void tsr_emu_wake(emu_thread *thread);

/* Ends the CTA because of the current thread: worker->fault is filled. Called on a fiber; does not come back. */
_Noreturn void tsr_emu_abandon(emu_thread *thread);

/* resident.c ------------------------------------------------------------------------------------------------------- */

/* One worker's part of the launch. `data` is its emu_worker. */
void *tsr_emu_worker_main(void *data);
void tsr_emu_worker_free(emu_worker *worker);

/* access.c ----------------------------------------------------------------------------------------------------------
 */

/* Checks an access by the current thread as if its kernel had made it, but for alignment; does not come back if it is
 * wrong. */
void tsr_emu_check(const void *address, size_t size, int is_write, const void *place);
/* The same for a reduction of global memory by the copy engine. */
void tsr_emu_check_reduction(const void *address, size_t size, const void *place);

/* trace.c: each returns at once where the thread's CTA is not the one that the trace is of. Called only where there is
 * a trace. */
void tsr_emu_trace_access(emu_thread *thread, const void *address, size_t size, int is_write, const void *place);
void tsr_emu_trace_copy(emu_thread *thread, const emu_copy *copy, const void *from, unsigned from_bytes,
                        const void *place);
void tsr_emu_trace_fma(emu_thread *thread, const float operands[4], const void *place);
void tsr_emu_trace_meeting(emu_thread *thread, tsr_trace_kind kind, const void *place);
/* The CTA's threads have ended. */
void tsr_emu_trace_end(emu_cta *cta);

/* listen.c: called only where there is a listener. `event.other` is a rank in the cluster. Of something that no thread
 * does: where in the slot's shared memory it is says of which CTA it is. */
void tsr_emu_tell(const emu_thread *thread, tsr_event event);
void tsr_emu_tell_of_slot(const emu_cta *cta, size_t offset, tsr_event event);
void tsr_emu_tell_access(const emu_thread *thread, const void *address, size_t bytes, int is_write, const void *place);

/* watch.c ---------------------------------------------------------------------------------------------------------- */

/* Of a slot whose launch is watched. */
typedef struct emu_watch {
    const tsr_emu_watcher *watcher;
    emu_flow *flow;
    emu_lane *lanes; /* of all threads */
    void *state;     /* the watcher's, of the CTA that runs */
} emu_watch;

/* 0 when out of memory; free is right all the same. */
int tsr_emu_watch_make(emu_cta *cta);
void tsr_emu_watch_free(emu_cta *cta);
/* A CTA starts in the slot; its threads are at a barrier; they have ended. 0 when out of memory, or when the kernel is
 * too long to be followed. */
int tsr_emu_watch_begin(emu_cta *cta, long long number);
int tsr_emu_watch_meet(emu_cta *cta);
void tsr_emu_watch_end(emu_cta *cta);

/* The thread does what `kind`, a tsr_watch_kind, says; nothing happens where nobody watches. */
void tsr_emu_watch_put(emu_thread *thread, unsigned kind, size_t bytes, uint64_t value, const void *place);
/* What the thread's code does from now on is not the thread's. */
void tsr_emu_watch_pause(emu_thread *thread, int is_paused);

/* access.c: the checks of an ordinary access by the current thread. */
void tsr_emu_checked_read(const void *address, size_t size, int aligned, const void *place);
void tsr_emu_checked_write(const void *address, size_t size, int aligned, const void *place);

/* A fault of the current thread, which is given without the fields that say who and where. */
_Noreturn void tsr_emu_fail_thread(emu_fault *fault, const void *place);
/* The same for what another thread of the slot asked for. */
_Noreturn void tsr_emu_fail_for(const emu_thread *culprit, emu_fault *fault, const void *place);

#endif
