/* Ranges of time with a name, which profilers show and filter by (NVTX, NVIDIA Tools Extension). */
#ifndef LAB_NVTX_H
#define LAB_NVTX_H

/* Opens a range on the calling thread, inside those that are open: 1 if somebody listens. The name is copied by whoever
 * does. A profiler is found once for the process, when a range is first opened: the library that NVTX_INJECTION64_PATH
 * names (version 3, what Nsight's tools set), else libnvToolsExt.so.1 (version 2, of toolkits before 12.9). */
int lab_nvtx_push(const char *name);

/* Closes the range that was opened last. Only where push said 1. */
void lab_nvtx_pop(void);

#endif
