/* Fibers: a stack and a place to go on, switched by hand. One fiber runs one thread of a kernel. */
#ifndef TSR_EMU_FIBER_H
#define TSR_EMU_FIBER_H

#include <stddef.h>

/* ucontext.h is the fallback for processors without a switch of our own; -DTSR_EMU_UCONTEXT=1 forces it. */
#ifndef TSR_EMU_UCONTEXT
#if defined(__x86_64__) || defined(__aarch64__)
#define TSR_EMU_UCONTEXT 0
#else
#define TSR_EMU_UCONTEXT 1
#endif
#endif

#if TSR_EMU_UCONTEXT
#include <ucontext.h>
#endif

typedef struct tsr_fiber {
    void *sp; /* where it stopped, while another one runs */
#if TSR_EMU_UCONTEXT
    ucontext_t context;
#endif
    void *stack; /* lowest byte; NULL: the stack that the operating system gave to the worker */
    size_t stack_bytes;
    void *sanitizer; /* AddressSanitizer's fake stack */
} tsr_fiber;

/* Makes the fiber start in `entry` at the next switch to it. `entry` must not return: it ends by a switch with
 * `ended` set. The stack is the caller's. */
void tsr_fiber_make(tsr_fiber *fiber, void *stack, size_t stack_bytes, void (*entry)(void));

/* Names the calling thread's own stack as a fiber to come back to. */
void tsr_fiber_adopt(tsr_fiber *fiber);

/* Stops `from`, the running fiber, and goes on in `to`. With `ended`, nobody will ever switch back to `from`. */
void tsr_fiber_switch(tsr_fiber *from, tsr_fiber *to, int ended);

/* The fiber will soon go on. */
static inline void tsr_fiber_prefetch(const tsr_fiber *fiber)
{
    __builtin_prefetch(fiber->sp);
}

/* First thing that an entry function calls. */
void tsr_fiber_entered(void);

#endif
