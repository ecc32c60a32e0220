/* One entry for each function of the library that kernels call: it jumps to the address in the function's slot of
 * tsr_emu_calls. Registers, stack and return address stay as the kernel left them: the emulator tells accesses apart by
 * where they return to. */
    .set slot, 0
    .text

    .macro ENTRY name
    .p2align 4
    .globl \name
    .hidden \name
    .type \name, @function
\name:
#if defined(__x86_64__)
    jmp *(tsr_emu_calls + slot)(%rip)
#elif defined(__aarch64__)
    adrp x16, tsr_emu_calls + slot
    ldr x16, [x16, :lo12:tsr_emu_calls + slot]
    br x16
#else
#error "no entries for this processor"
#endif
    .size \name, . - \name
    .set slot, slot + 8
    .endm

    .hidden tsr_emu_calls
#define X(name) ENTRY name
#include "emu_calls.def"

    .section .note.GNU-stack,"",%progbits
