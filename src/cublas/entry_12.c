/* The entry points under the version nodes libcublas.so.12 and libcublasLt.so.12. */
#define ENTRY_MAJOR 12
#define ENTRY_NODE  TSR_NODE_12
#include "cublas/entry_tmpl.h"
