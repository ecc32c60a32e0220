/* A config of the kernel table: one instance of one kernel, with all that plans, backends, the checker, the emulator,
 * benchmarks and docs need to know of it. The table itself is src/plan/kernels.def. */
#ifndef TSR_CORE_CONFIG_H
#define TSR_CORE_CONFIG_H

#include "core/device.h"
#include "core/gemm_args.h"
#include "core/problem.h"
#include "core/scaling.h"

typedef enum tsr_config_kind { TSR_CONFIG_CPU, TSR_CONFIG_CUDA } tsr_config_kind;

/* Rows of the kernel table make products. Others are steps around them (src/plan/prep.def), or measure a GPU
 * (src/plan/microbench.def). */
typedef enum tsr_config_role {
    TSR_ROLE_PRODUCT,
    TSR_ROLE_PAD,       /* copies A, B or both to aligned rows: kernels/prep/pad.cu */
    TSR_ROLE_TRANSPOSE, /* the same, transposed: kernels/prep/transpose.cu */
    TSR_ROLE_REDUCE,    /* adds the sums of parts of K that a product left: kernels/prep/reduce.cu */
    TSR_ROLE_MICROBENCH /* uses one level of memory over and over: kernels/microbench/ */
} tsr_config_role;

/* Configs of the same order, dtypes and compute give the same bits for an element of D, whatever M, N, their tiles and
 * everything else are: each element is one sum along K from first to last. Those that cut K keep it whole where
 * TSR_BATCH_INVARIANT is asked for. A higher one is preferred where several are to be had. */
typedef enum tsr_order {
    TSR_ORDER_ANY, /* not promised: K is cut in ways that depend on more than K */
    TSR_ORDER_CPU,
    TSR_ORDER_CPU_TILES, /* a sum for each block of K, whose length K alone gives */
    TSR_ORDER_FMA,       /* one fused multiply-add for each product */
    TSR_ORDER_MMA,       /* mma.sync, its k steps in order */
    TSR_ORDER_WGMMA      /* wgmma, its k steps in order */
} tsr_order;

typedef struct tsr_price {
    double ns;           /* expected time of one run, without transfers */
    double bytes;        /* traffic of the level that limits it */
    const char *limiter; /* "compute", "memory", "cache", "launch" */
    /* Of configs for which the GPU's share is priced apart: that, and how many launches the host gives for it. ns is
     * the longer of both. Otherwise 0. */
    double gpu_ns;
    int launches;
    double early_ns; /* what asking for operands before the launch in front has ended saves: lost if that makes them */
    double rank_ns;  /* by which schedules of one config are compared */
} tsr_price;

typedef struct tsr_config tsr_config;

/* The algorithm of a CPU config for a problem, as its `choose` hook numbers them; 0: nobody has asked yet. */
typedef struct tsr_algorithms {
    int without_c, with_c; /* where beta is 0, and where it is not */
    int k_parts;           /* of K that it sums apart; 0: none */
} tsr_algorithms;
typedef tsr_algorithms tsr_cpu_choose(const tsr_config *config, const tsr_device *device, const tsr_problem *problem);

struct tsr_reserve;

/* Runs a CPU config: `threads` > 0. `a` or `b` in args is the packed form where packed_a or packed_b is set. */
typedef struct tsr_cpu_call {
    const tsr_gemm_args *args;
    const tsr_scaling *scaling;      /* NULL: none */
    const void *packed_a, *packed_b; /* from the config's pack hook; NULL: none */
    unsigned sparse24;               /* TSR_SPARSE24_A or _B: packed_a or packed_b is compressed */
    int threads;
    int algorithm; /* what `choose` answered for the problem; 0: run asks by itself */
    tsr_device *device;
    struct tsr_reserve *reserve; /* cpu/reserve.h; NULL: buffers come from the device */
} tsr_cpu_call;
typedef tsr_status tsr_cpu_run(const tsr_config *config, const tsr_cpu_call *call);

/* ---- the small path of a CPU config: products in the calling thread, with threads that may help but asking for no
 * memory
 * ---- */

/* Without a plan: one product in host memory. Nothing need be valid. C is not read where beta is 0.
 */
typedef struct tsr_small tsr_small;
#define TSR_LAYOUT(trans_a, trans_b) ((uint64_t)(uint32_t)(trans_b) << 32 | (uint32_t)(trans_a)) /* valid or not */
#define TSR_LAYOUT_A                 ((uint64_t)1)       /* bits of a valid one: A is stored transposed, */
#define TSR_LAYOUT_B                 ((uint64_t)1 << 32) /* B is */
/* C is D. The arguments lie where those of the one-line calls lie, so that these need only jump. */
typedef tsr_status tsr_small_call(const tsr_small *small, uint64_t layout, int64_t m, int64_t n, int64_t k,
                                  const void *a, int64_t lda, const void *b, int64_t ldb, void *d, int64_t ldd,
                                  double alpha, double beta);
typedef int tsr_small_try(const tsr_small *small, uint64_t layout, int64_t m, int64_t n, int64_t k, const void *a,
                          int64_t lda, const void *b, int64_t ldb, const void *c, int64_t ldc, void *d, int64_t ldd,
                          double alpha, double beta);
struct tsr_small {
    tsr_small_call *call;      /* does a valid, small product; ends in `otherwise` if it is not, and wrote nothing */
    tsr_small_try *try_apart;  /* the same where C may lie elsewhere: 1: done; 0: it is not, and nothing was written */
    tsr_small_call *otherwise; /* set by who made this, as is */
    double most_ops;           /* what takes more operations is not small */
    const void *tables[2];     /* the config's own, */
    tsr_device *device;        /*   of this device */
    tsr_dtype dtype;
};

/* With a plan, which remembers what all its runs share. The run's arguments are valid, alpha is not 0. 1: done; 0:
 * nothing was written. */
typedef struct tsr_small_plan tsr_small_plan;
typedef int tsr_small_run(const tsr_small_plan *plan, const void *a, const void *b, const void *c, void *d,
                          double alpha, double beta);
struct tsr_small_plan {
    tsr_small_run *run; /* the config's own members follow */
};

typedef struct tsr_cpu_small {
    /* Fills all but `otherwise` and `most_ops`; 0: the config's type has only the other one. */
    int (*of_device)(const tsr_config *config, tsr_device *device, tsr_small *out);
    /* One problem with small extents (core/check.h); `algorithms` is what `choose` answered. One block of malloc, which
     * the caller frees; NULL: the problem is not small, or there is no memory. */
    tsr_small_plan *(*plan)(const tsr_config *config, tsr_device *device, const tsr_problem *problem,
                            tsr_algorithms algorithms);
} tsr_cpu_small;

/* Prepared operands of a CPU config, which = 'a' or 'b'. Bytes are 0 where the config has no packed form. */
typedef size_t tsr_cpu_pack_bytes(const tsr_config *config, const tsr_problem *problem, char which);
typedef tsr_status tsr_cpu_pack(const tsr_config *config, const tsr_problem *problem, char which, const void *data,
                                void *packed);
/* Which packed form of its operands a problem reads; another problem with the same operand may read another one. */
typedef int tsr_cpu_packed_form(const tsr_config *config, const tsr_problem *problem);
#define TSR_PACKED_FORMS 2
/* Makes the form of operand `which` that `to` reads from that of `from`, which is the other. */
typedef void tsr_cpu_repack(const tsr_config *config, const tsr_problem *from, const tsr_problem *to, char which,
                            const void *packed, void *repacked);

/* Grid of a CUDA config in CTAs. */
typedef struct tsr_grid {
    long long x, y, z;
} tsr_grid;

typedef enum tsr_layouts { TSR_ANY_LAYOUT, TSR_ONLY_N, TSR_ONLY_T } tsr_layouts;

/* What plans know of all configs of a family: which schedules they have, and what each takes
 * (plan/schedules.c, plan/price.c). */
typedef enum tsr_family {
    TSR_FAMILY_NONE, /* steps around a product */
    TSR_FAMILY_CPU_SEQUENTIAL,
    TSR_FAMILY_CPU_TILED,
    TSR_FAMILY_SIMT,
    TSR_FAMILY_REGTILE,
    TSR_FAMILY_SHORT_K,
    TSR_FAMILY_WARPTILE,
    TSR_FAMILY_WARPTILE_NN,
    TSR_FAMILY_WARP_SPECIALIZED,
    TSR_FAMILY_STREAM_K,
    TSR_FAMILY_CLUSTER_K,
    TSR_FAMILY_THIN,
    TSR_FAMILY_TENSOR, /* wmma and mma.sync, tiles loaded by threads */
    TSR_FAMILY_MMA_F64,
    TSR_FAMILY_WMMA_SMALL,
    TSR_FAMILY_MMA_TMA,
    TSR_FAMILY_WGMMA,
    TSR_FAMILY_WGMMA_SKINNY,
    TSR_FAMILY_WGMMA_KMAJOR,
    TSR_FAMILY_COUNT
} tsr_family;

struct tsr_config {
    const char *name;     /* the kernel, as the user says it: "tiled" */
    const char *instance; /* unique; also the symbol in device code: "tiled_f32_t16" */
    const char *summary;  /* one line, for help and docs */
    tsr_config_kind kind;
    tsr_config_role role;
    const char *source;  /* "kernels/gemm/tiled.cu", "src/cpu/tiled.c" */
    const char *defines; /* CUDA: -D constants, blanks between: "TILE=16 ELEM_F32" */

    tsr_op_set op; /* what it computes; steps around a product: operands of which types they read and write */

    int min_arch;   /* CUDA: lowest compute capability, 80 */
    int exact_arch; /* CUDA: 1 if min_arch is the only one (sm_90a code) */
    int bm, bn, bk; /* tile of D that a CTA makes, and its step along K; 0: not tiled (CPU) */
    int threads_x, threads_y;
    int smem_bytes;           /* dynamic shared memory of a CTA */
    int ring_bytes;           /* of these, for stages; configs whose cost asks for it say it, others 0 */
    int tma;                  /* CUDA: 1 if the kernel also takes tensor maps (core/tensor_spec.h) */
    int scaled;               /* CUDA: 1 if it takes tsr_scaling behind maps (ptx/scaled.h), which it reads with tma */
    int cluster_m, cluster_n; /* CTAs of a cluster along M and N; 0: no clusters. With swaps_ab: along the shorter
                               * and the longer side of D, and the schedule's cluster_k comes on top */
    int parts;                /* CTAs of a cluster that may each take a part of K of one tile; 0: none do */
    int overlaps_stores;      /* 1: CTAs multiply the next tile while they store one */
    int swaps_ab;             /* 1: bm is for the shorter side of D and bn for the longer one, or the other way round
                               * by the schedule's swap_ab; C and D need no maps */
    int pingpong;             /* wgmma-kmajor: 1 if a tile is stored while the CTA multiplies its next one */
    int dependent_launch; /* CUDA: 1 for programmatic dependent launch: the kernel waits (ptx/grid.h) before it touches
                           * what others may write, so that it may be launched while the grid before it runs */
    int raster;           /* of `wgmma`: tile rows that are walked together, column after column */
    int persistent;       /* 1: at most one CTA for each SM, which walks over tiles and problems */
    int sm_ctas;     /* CUDA: CTAs that an SM holds at once; configs whose schedules depend on it say it, others 0 */
    int unaligned_a; /* CUDA: 1 if rows of A may begin anywhere; of `wgmma` and `thin-mma` */
    int unaligned_b; /* CUDA: the same of B; of `thin-mma` */
    int align_elems; /* pointers and leading dimensions must be multiples of this; 0 and 1: any */
    int any_cd;      /* CUDA: 1 if that is not for C and D, which may lie anywhere */

    tsr_order order; /* how an element's products are summed, as TSR_BATCH_INVARIANT needs to know */

    /* |err| <= bound_c * u * (|alpha| |A||B| + |beta C|), u the accumulator's roundoff, plus half an ulp of D's dtype.
     * At most 3x the worst that was ever measured. */
    double bound_c;

    tsr_family family;
    tsr_layouts a_layout, b_layout; /* which transposes of A and B it takes */
    int copies_transposed;          /* CUDA: 1 if plans may copy A and B transposed for it */
    int boxed_d;          /* CUDA: 1 if a D of 16 bits leaves, and such a C comes, by boxes of a warp's 16 rows */
    int streams_k;        /* CUDA, wgmma-kmajor, wgmma-rs: 1 if units may share the steps along K of a tile */
    int copies_short;     /* CUDA: 1 if plans may copy the operand of D's shorter side transposed where it does not lie
                           * along K, though the kernel could read it: its lines are short then, and many */
    int mn_major_lines;   /* CUDA: 1 if one operand must lie along M or N and the other one along K: nn, tt. Of
                           * nn D^T is computed, whatever the schedule says; tiles have bm lines of the first,
                           * and bn rows of the second */
    int k_multiple;       /* K must be a multiple of this; 0 and 1: any */
    int last_choice_arch; /* CUDA: GPUs of this compute capability take it only where no other config applies, since
                           * others are faster there or it was not timed beside them; 0: none */
    double efficiency;    /* fraction of the compute peak that large problems reach; read by its price */

    tsr_cpu_run *run; /* CPU configs */
    tsr_cpu_choose *choose;
    const tsr_cpu_small *small;
    tsr_cpu_pack_bytes *pack_bytes;
    tsr_cpu_pack *pack;
    tsr_cpu_packed_form *packed_form;
    tsr_cpu_repack *repack;
};

/* Clusters of a config that `sm_count` SMs of Hopper hold at the same time, one CTA an SM; at least 1. Those of more
 * than two CTAs leave some SMs idle, as a cluster lies within a GPC. */
int tsr_config_clusters(const tsr_config *config, int sm_count);

/* One CTA for each BM x BN tile of D: x counts tiles (row-major over D's tiles), z counts problems of the batch up to
 * 65535 (kernels stride on). A persistent config: whole clusters, as many as there are tiles for them or as fit on
 * `sm_count` SMs, all along x. */
tsr_grid tsr_config_grid(const tsr_config *config, const tsr_gemm_args *args, int sm_count);

/* The tile along M and N, which depends on D's shape where the config `swaps_ab`. */
void tsr_config_tile(const tsr_config *config, long long m, long long n, int *bm, int *bn);

/* The schedule that leaves K whole. Of a config that `swaps_ab`, the columns of its tiles lie along the shorter side of
 * D. */
tsr_schedule tsr_config_whole(const tsr_config *config, long long m, long long n);

/* Of a config that `swaps_ab`: what a tile has of the side of D that its columns lie along. Where that operand lies
 * along K all tiles have equally much, in steps of 8 for each CTA that shares its boxes, so that few of their rows lie
 * beyond the operand: the copy engine takes longer for such rows than for those that are there. Elsewhere bm. Kernels
 * decide by the same rule. */
int tsr_config_short_tile(const tsr_config *config, const tsr_gemm_args *args);

/* 1 if it computes D^T whatever the schedule says: of its instructions' operands B is A. `trans_a`: A is stored
 * transposed, for this config. */
int tsr_config_lies_across(const tsr_config *config, const tsr_op *op, int trans_a);

/* CTAs of a cluster, at least 1. */
int tsr_config_cluster(const tsr_config *config);

/* 1 if rows of one operand may begin anywhere, though the config has align_elems for the other one. */
int tsr_config_takes_unaligned(const tsr_config *config);

/* 1 if the config multiplies f64 on tensor cores. */
int tsr_config_is_f64_tensor(const tsr_config *config);

#endif
