/* The real libraries, as the program has loaded them. A process may hold both majors at the same time: each of our
 * symbols stands under two version nodes, and a call goes on to the library of its own node. */
#ifndef TSR_CUBLAS_REAL_H
#define TSR_CUBLAS_REAL_H

#include "cublas/abi.h"

/* The version nodes: libcublas.so.12 and libcublasLt.so.12, and those of 13. */
enum { TSR_NODE_12, TSR_NODE_13, TSR_NODES };

/* Calls that the loaded library lacks are NULL. */
typedef struct tsr_real_cublas {
#define TSR_REAL_MEMBER(member, symbol, parameters) tsr_cublas_status(*member) parameters;
    TSR_CUBLAS_CALLS(TSR_REAL_MEMBER)
} tsr_real_cublas;

typedef struct tsr_real_lt {
    TSR_LT_CALLS(TSR_REAL_MEMBER)
#undef TSR_REAL_MEMBER
    size_t (*version)(void); /* 130101 for 13.1.1 */
} tsr_real_lt;

/* The library of the node, found at the first call and kept; NULL, told once on stderr, while the process has none. Any
 * thread may call. */
const tsr_real_cublas *tsr_real_cublas_of(int node);
const tsr_real_lt *tsr_real_lt_of(int node);

/* 1 once a call has found a library of the node. */
int tsr_real_is_used(int node);

/* The answer of a call that the loaded library lacks; told once. */
tsr_cublas_status tsr_real_lacks(const char *symbol);

#endif
