/* What a kernel does with memory and arithmetic, counted from the accesses that it makes in the emulator. Counts are
 * those of NVIDIA's hardware: a *request* is one instruction of a warp, a *sector* 32 bytes of global memory that it
 * touches, a *wavefront* one pass over the 32 banks of shared memory. docs/EMULATOR.md says which are exact. */
#ifndef LAB_COUNTERS_H
#define LAB_COUNTERS_H

#include "lab/common/gpus.h"
#include "tessera.h"

/* Accesses of global memory of one kind. Numbers are of the whole launch; whole numbers unless it was sampled. */
typedef struct lab_traffic {
    double requests;
    double lines; /* of 128 bytes: each takes a pass through L1 */
    double sectors;
    double bytes; /* that lanes asked for; the rest of their sectors came along for nothing */
} lab_traffic;

/* Accesses of shared memory of one kind. */
typedef struct lab_shared_traffic {
    double requests;
    double wavefronts;
    double conflicts; /* wavefronts beyond those that as many different words need */
    double bytes;
} lab_shared_traffic;

/* What L2 is asked for, in sectors, by a model of the caches of all SMs (lab/predict/hierarchy.h). */
typedef struct lab_l2_counters {
    int is_known;                   /* 0: the model does not cover this kernel */
    double reads, read_misses;      /* by SMs, of the partition that they are connected to */
    double home_reads, home_misses; /* of one partition by the other */
    double writes, home_writes;     /* by SMs, and on to the other partition */
    double dram_reads, dram_writes;
} lab_l2_counters;

typedef struct lab_counters {
    char instance[64];
    long long ctas;         /* of the launch */
    long long counted_ctas; /* fewer: the numbers are those of a sample, scaled */
    double sample_error;    /* standard error of sectors and wavefronts, relative; 0 where all CTAs were counted */
    int threads;            /* of a CTA */
    int shared_bytes;       /* of a CTA */
    int registers;          /* of a thread, as the assembler reported; 0: this build has no device code */

    double fma_f32, fma_f64; /* multiply-adds of threads: 2 FLOP each */
    double warp_fma;         /* the same, instructions of warps */
    double tensor_flops;
    double flops; /* all of them */

    lab_traffic load, store, atomic;   /* ordinary instructions */
    lab_traffic wide_store;            /* of store, those of 16 bytes in the source; also counted there */
    lab_traffic copy;                  /* cp.async; what it writes is in copy_shared */
    lab_traffic copy_past_l1;          /* those of 16 bytes, which L1 does not keep; also counted in copy */
    double copy_line_pairs;            /* of copy_past_l1: 256 bytes of which one request asks for both lines. An H200
                                          counts one more sector for each in L1, which misses, and four more in L2 */
    lab_traffic bulk_load, bulk_store; /* the copy engine; a request is a row of a box */
    lab_shared_traffic shared_load, shared_store;
    lab_shared_traffic
        shared_load_merged; /* shared_load, if the compiler joins neighbours up to 16 bytes, as it does */
    lab_shared_traffic shared_load_narrow; /* of shared_load_merged, those of at most 4 bytes */
    double shared_tiles;                   /* of CTAs: times between two barriers in which shared memory is read */
    lab_shared_traffic copy_shared;
    double bulk_shared_bytes;   /* that the copy engine writes to and reads from shared memory */
    double tensor_shared_bytes; /* that wgmma reads */
    double barriers;            /* of CTAs */
    /* L1 as one SM has it, with the CTAs that it holds at once, by a model (lab/predict/gpu_cache.h). */
    double l1_hit_rate;       /* of sectors, stores included, 0 to 1 */
    double l1_load_miss_rate; /* of sectors that are loaded or copied */
    lab_l2_counters l2;
    /* Of store.sectors, those that are there because the compiler split stores of 16 bytes
     * (lab/predict/machine_code.h). */
    double split_store_sectors;
    int has_machine_code; /* 1: shared_load_merged and store are as the machine code has them */
    double load_stores;   /* of CTAs: shared stores of the warp that makes most, between barriers with plain loads */
    double waits;         /* of CTAs: how often one waits for plain loads, eight of a warp at a time */
    /* Of CTAs, the warp that has most of it from barrier to barrier: cp.async of tiles that an edge of the matrix cuts,
     * and conditions that it comes to before it stores to global memory. */
    double cut_copies, store_branches;
    double most_cut_copies, most_store_branches; /* of the CTA with most, of those that were counted */
    double prepared_bytes; /* that steps before the product read and write: copies of operands with padded rows */
    /* Of waits, how many are for DRAM, and for L2 alone, 0 to 1, where l2.is_known (lab/predict/hierarchy.h). */
    double dram_waits, l2_waits;
} lab_counters;

/* Sectors of all kinds. */
double lab_counters_sectors(const lab_counters *counters);
/* FLOP per byte that moves between global memory and the SMs, all sectors counted whole. */
double lab_counters_intensity(const lab_counters *counters);

typedef struct lab_count_options {
    const lab_gpu_spec *gpu; /* whose L1 is modelled; NULL: an H200 */
    /* Counts about this many CTAs, spread over the launch, and scales up; 0: all of them. Kernels whose CTAs need each
     * other (those with a workspace) are always run whole. */
    long long sample_ctas;
    unsigned long long seed; /* of the operands; they do not change what is counted */
    double follow_products;  /* multiply-adds of the part of the launch that the caches are followed in; 0: 1.5e8 */
    int is_quick;            /* 1: one SM's L1 alone is followed, and L2 goes by footprint: for many kernels at once */
} lab_count_options;

/* Runs `desc` (desc->kernel names a kernel or an instance) in the emulator on random operands with beta = 0 and counts.
 * The operands are aligned as well as their leading dimensions allow, and the kernel is told. `options` may be NULL.
 * TSR_UNSUPPORTED where the build has no emulator, or the kernel cannot run the problem. */
tsr_status lab_count(const tsr_gemm_desc *desc, const lab_count_options *options, lab_counters *out);

/* An estimate of the same in a second or so, however large the problem is: two short K are counted (is_quick, one CTA
 * and those of one SM) and the line through them is followed, which is exact where a kernel does the same for each step
 * of K. Where its CTAs need each other, at most 512 rows and columns of D are counted, and stand for all. */
tsr_status lab_count_quick(const tsr_gemm_desc *desc, const lab_gpu_spec *gpu, lab_counters *out);

/* lab_count for launches that are too large for it, in seconds. Kernels do the same for each step of K, so K is counted
 * at two short lengths, 64 apart and with the same rest, and the line through both is followed; and CTAs do the same
 * but for those at edges, so a problem of at most two by two tiles is counted, with the same edges and rows as far
 * apart. All counters but those of caches come out as of the whole where rows are multiples of 32 bytes; else sectors
 * are off by as much as tiles differ in how they lie. Kernels whose CTAs are in clusters, need each other or take
 * several tiles are counted by lab_count, as the options say. */
tsr_status lab_count_line(const tsr_gemm_desc *desc, const lab_count_options *options, lab_counters *out);

#endif
