/* What the emulator offers to the twin of mma in f64 (ptx/mma_f64.h). Kernels never call it themselves. */
#ifndef TSR_PTX_EMULATOR_F64_H
#define TSR_PTX_EMULATOR_F64_H

/* Tensor cores: sum[rows][columns] += a[rows][k] * b[k][columns] by one instruction. Rows and k are at most 16, columns
 * 8. Each element's products are added one after the other by rising k, each by a fused multiply-add that rounds to
 * nearest, as an H100 does: docs/EMULATOR.md, "Tensor cores". */
void tsr_emu_tensor_f64(double *sum, const double *a, const double *b, int rows, int columns, int k);

#endif
