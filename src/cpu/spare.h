/* Memory for copies and sums of one call of the small path, which must not fail for want of any: threads may have
 * stacks of 64 KiB, so what is larger than a few of them lies elsewhere. */
#ifndef TSR_CPU_SPARE_H
#define TSR_CPU_SPARE_H

#include <stddef.h>

enum { TSR_SPARE_BYTES = 96 * 1024 };

/* `spare` has the bytes that were asked for, aligned to 64. */
typedef void tsr_spare_use(void *job, char *spare);

/* Calls `use` once with up to TSR_SPARE_BYTES, which it may have until it returns: on the stack where that is little;
 * in memory that is kept for such calls; or, where the system gives none, on the stack after all. */
void tsr_with_spare(size_t bytes, tsr_spare_use *use, void *job);

#endif
