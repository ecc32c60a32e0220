/* The entry points under the version nodes libcublas.so.13 and libcublasLt.so.13. */
#define ENTRY_MAJOR 13
#define ENTRY_NODE  TSR_NODE_13
#include "cublas/entry_tmpl.h"
