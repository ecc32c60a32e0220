/* The tile sizes that one may choose for a tiled product, and what rules each out. */
#ifndef LAB_TILES_H
#define LAB_TILES_H

#include "lab/common/gpus.h"

/* What any CUDA kernel keeps: threads of a block; shared memory of a block without opting in for more; registers of a
 * thread, of which half is the rule of thumb for two blocks on an SM. */
enum { LAB_BLOCK_THREADS = 1024, LAB_BLOCK_SHARED_BYTES = 48 << 10, LAB_THREAD_REGISTERS = 128, LAB_WARP_THREADS = 32 };

/* A product by square tiles of `tile` x `tile`, K in steps of `step`; a thread makes `elements` elements of C. */
typedef struct lab_tiling {
    tsr_dtype dtype; /* of A and B */
    int tile, step, elements;
    int64_t tiles_m, tiles_n, phases;
    int64_t threads;      /* of a block */
    int64_t shared_bytes; /* one tile of A and one of B */
    double loaded_bytes;  /* by all blocks from global memory, A and B; elements outside the matrices are not loaded */
    double reuse;         /* loads of a product without tiles (2 M N K) over those with */
    double intensity;     /* FLOP for each byte loaded or stored */
    double bound_flops_s; /* min(peak, intensity x bandwidth) */
    /* Against the device; NULL: nothing rules it out. */
    const char *ruled_out; /* "threads", "shared memory", "registers" */
    int ctas_per_sm;       /* resident at once; 0 where it is ruled out */
    double occupancy;      /* busy threads of an SM, idle lanes of half-filled warps not counted */
} lab_tiling;

/* What one asks about: tile, step and elements as above; `registers` of a thread, 0: not known, and not taken into
 * account; `peak_flops_s` of the units that multiply. */
typedef struct lab_tiling_request {
    tsr_dtype dtype, dtype_d; /* of A and B, which have as many bytes each, and of D */
    int64_t m, n, k;
    int tile, step, elements, registers;
    double peak_flops_s;
} lab_tiling_request;

lab_tiling lab_tiling_of(const lab_tiling_request *request, const lab_gpu_spec *gpu);

#endif
