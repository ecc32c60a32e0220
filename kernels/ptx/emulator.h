/* What the emulator offers to the twins in kernels/ptx: src/emu implements it. Kernels never call it themselves.
 *
 * Loads and stores need nothing from here: kernels are compiled with -fsanitize=thread, and the calls that gcc inserts
 * before each access lead to the emulator. Functions marked const return the same value all through a thread's life, so
 * that gcc may keep it in a register as nvcc does. */
#ifndef TSR_PTX_EMULATOR_H
#define TSR_PTX_EMULATOR_H

typedef struct tsr_emu_uint3 {
    unsigned x, y, z;
} tsr_emu_uint3;

__attribute__((const)) tsr_emu_uint3 tsr_emu_thread_idx(void);
__attribute__((const)) tsr_emu_uint3 tsr_emu_block_idx(void);
__attribute__((const)) tsr_emu_uint3 tsr_emu_block_dim(void);
__attribute__((const)) tsr_emu_uint3 tsr_emu_grid_dim(void);

/* The CTA's arena of shared memory, and the 32-bit address of a pointer into it. */
__attribute__((const)) unsigned char *tsr_emu_shared(void);
unsigned tsr_emu_shared_address(const void *pointer);
/* The other way round, for accesses at a 32-bit address of the thread's own CTA. */
void *tsr_emu_shared_pointer(unsigned address);

/* Waits for all threads of the CTA. */
void tsr_emu_barrier(void);

#endif
