/* What is linked to a user's kernel (tessera try) beside calls.S: the slots, of the functions that kernels may call, and
 * where the command finds them and the kernel. user.c has the same struct. */
    .set slots, 0
#define X(name) .set slots, slots + 1
#include "emu_calls.def"

    .text
    /* The instrumentation calls it when the file is loaded, before there is anybody to ask. */
    .globl tsr_emu_init
    .hidden tsr_emu_init
    .type tsr_emu_init, @function
tsr_emu_init:
    ret
    .size tsr_emu_init, . - tsr_emu_init

    /* Until the command fills them in, calls return: code that runs while the file is loaded is instrumented, too. */
    .data
    .p2align 3
    .globl tsr_emu_calls
    .hidden tsr_emu_calls
    .type tsr_emu_calls, @object
tsr_emu_calls:
    .rept slots
    .quad tsr_emu_init
    .endr
    .size tsr_emu_calls, 8 * slots

    .section .data.rel.ro, "aw"
    .p2align 3
    .globl tsr_user_file
    .type tsr_user_file, @object
    .hidden tsr_user_kernel
    .hidden tsr_user_watched_kernel
tsr_user_file:
    .quad tsr_user_kernel
    .quad tsr_user_watched_kernel
    .quad tsr_emu_calls
    .quad slots
    .size tsr_user_file, 32

    .section .note.GNU-stack,"",%progbits
