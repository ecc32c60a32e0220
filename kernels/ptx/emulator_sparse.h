/* What the emulator offers to the twin of wgmma.sp; src/emu implements it. */
#ifndef TSR_PTX_EMULATOR_SPARSE_H
#define TSR_PTX_EMULATOR_SPARSE_H

/* As tsr_emu_wgmma (ptx/emulator_hopper.h) with an A that is compressed 2:4 and K-major. */
void tsr_emu_wgmma_sparse(float *d, int n, const char *types, unsigned long long a, unsigned long long b,
                          unsigned metadata, int selector, int accumulate, int mn_major_b);

#endif
