/* What the machine has: libraries that are loaded only on demand, and CPU features. */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

#include <stddef.h>

enum { CLI_PROBES = 2 }; /* NVRTC, CUPTI */

const char *cli_probe_name(size_t index);
/* Opens library `index` and asks for its version: 1 and "13.0, libnvrtc.so.13", or 0 and why not. */
int cli_probe(size_t index, char *out, size_t bytes);

/* Vector extensions that matter here, "avx2 fma avx512f"; returns `out`. */
const char *cli_cpu_features(char *out, size_t bytes);

#endif
