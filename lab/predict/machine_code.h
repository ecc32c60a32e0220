/* What nvcc made of a kernel's accesses: counts of instructions in its machine code, as tools/machine-code read them.
 */
#ifndef LAB_MACHINE_CODE_H
#define LAB_MACHINE_CODE_H

#include "lab/predict/counters.h"

enum { LAB_NARROW, LAB_MIDDLE, LAB_WIDE, LAB_WIDTHS }; /* up to 4 bytes, 8, 16 */

/* Instructions as they stand in the code, whatever way a thread takes through it. */
typedef struct lab_machine_code {
    const char *instance, *hash; /* of the code: as the build reports it */
    int registers, code_bytes;
    int load[LAB_WIDTHS], store[LAB_WIDTHS], shared_load[LAB_WIDTHS], shared_store[LAB_WIDTHS], copy[LAB_WIDTHS];
    int load_groups, group_stores; /* loads that go on to shared memory, as many at once as a group has; their stores */
} lab_machine_code;

extern const lab_machine_code lab_machine_codes[]; /* the build makes it; ends with an empty row */

/* NULL if nothing is recorded of the instance, or this build has other machine code for it. */
const lab_machine_code *lab_machine_code_of(const char *instance);

/* Corrects what was counted from the source, where the machine code leaves no doubt:
 * - 16-byte stores. If it has fewer of them than a thread makes, and at least four narrow ones for each that is
 * missing, those were split.
 * - Shared loads. If it has as many of 16 bytes as a warp makes for one tile, and more narrow ones than that, the
 * compiler loads again what it had no registers for.
 * - Waits. If loads that go on to shared memory are stored before the next ones start, each such group waits by itself.
 */
void lab_machine_code_apply(const lab_machine_code *code, lab_counters *counters);

#endif
