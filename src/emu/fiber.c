#include "emu/fiber.h"

#include <stdint.h>

#include "emu/sanitizer.h"

#if TSR_EMU_UCONTEXT

void tsr_fiber_make(tsr_fiber *fiber, void *stack, size_t stack_bytes, void (*entry)(void))
{
    tsr_sanitizer_unpoison(stack, stack_bytes);
    fiber->stack = stack;
    fiber->stack_bytes = stack_bytes;
    fiber->sanitizer = NULL;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = stack_bytes;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, entry, 0);
}

static void switch_stacks(tsr_fiber *from, tsr_fiber *to)
{
    swapcontext(&from->context, &to->context);
}

#else

/* src/emu/switch.S: saves what the calling convention asks callees to keep, and goes on where `to` was saved. */
void tsr_fiber_switch_stacks(void **from, void *to);

#if defined(__x86_64__)
enum { SAVED_WORDS = 7, ENTRY_WORD = 6 }; /* r15 r14 r13 r12 rbx rbp, return address */
#else
enum { SAVED_WORDS = 20, ENTRY_WORD = 11 }; /* x19 ... x28, x29, x30, d8 ... d15 */
#endif

void tsr_fiber_make(tsr_fiber *fiber, void *stack, size_t stack_bytes, void (*entry)(void))
{
    tsr_sanitizer_unpoison(stack, stack_bytes);
    fiber->stack = stack;
    fiber->stack_bytes = stack_bytes;
    fiber->sanitizer = NULL;
    /* The entry must find the stack as after a call: on x86-64, a multiple of 16 and one word less. */
    uintptr_t *top = (uintptr_t *)(((uintptr_t)stack + stack_bytes - 64) & ~(uintptr_t)15);
    uintptr_t *saved = top - (SAVED_WORDS + SAVED_WORDS % 2);
    for (int i = 0; i < SAVED_WORDS; i++)
        saved[i] = 0;
    saved[ENTRY_WORD] = (uintptr_t)entry;
    fiber->sp = saved;
}

static void switch_stacks(tsr_fiber *from, tsr_fiber *to)
{
    tsr_fiber_switch_stacks(&from->sp, to->sp);
}

#endif

void tsr_fiber_adopt(tsr_fiber *fiber)
{
    fiber->sp = NULL;
    fiber->stack = NULL;
    fiber->stack_bytes = 0;
    fiber->sanitizer = NULL;
    tsr_sanitizer_own_stack(&fiber->stack, &fiber->stack_bytes);
}

void tsr_fiber_switch(tsr_fiber *from, tsr_fiber *to, int ended)
{
    tsr_sanitizer_before_switch(ended ? NULL : &from->sanitizer, to->stack, to->stack_bytes);
    switch_stacks(from, to);
    tsr_sanitizer_after_switch(from->sanitizer);
}

void tsr_fiber_entered(void)
{
    tsr_sanitizer_after_switch(NULL);
}
