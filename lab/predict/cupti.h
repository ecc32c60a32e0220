/* The eight numbers of `tessera profile`, measured by CUPTI's range profiler in this process. */
#ifndef LAB_CUPTI_H
#define LAB_CUPTI_H

#include "lab/predict/cupti_abi.h"
#include "lab/predict/predict.h"

/* Finds the library: TESSERA_CUPTI_PATH if it is set, else libcupti.so.13 or .12 where the linker looks and in the
 * usual folders of CUDA toolkits. It stays loaded. TSR_UNSUPPORTED with the reason. */
tsr_status lab_cupti_load(lab_cupti_calls *out);

/* Runs `desc` on "cuda:N" once for each pass that the counters need, each time with an L2 that holds nothing of it.
 * A metric that the GPU does not have is NAN. TSR_UNSUPPORTED says why nothing could be measured: no library, one that
 * is too old, no permission, a profiler around. Nothing is left behind. */
tsr_status lab_cupti_measure(const char *device, const tsr_gemm_desc *desc, lab_eight *out, double *ns);

/* As NVIDIA's profilers name them: the eight in order, then the time. */
extern const char *const lab_eight_metrics[LAB_EIGHT + 1];
/* From values in that order; bytes a second become GB/s. */
lab_eight lab_eight_of_metrics(const double values[LAB_EIGHT + 1]);

#endif
