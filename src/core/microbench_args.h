/* The argument of kernels/microbench/: accesses of one level of a GPU's memory, over and over. Shared by host and
 * device code, so it includes nothing. */
#ifndef TSR_CORE_MICROBENCH_ARGS_H
#define TSR_CORE_MICROBENCH_ARGS_H

typedef struct tsr_microbench_args {
    const void *from; /* what is read, a multiple of 128 bytes */
    void *to;         /* results, or the copy */
    long long from_bytes, to_bytes;
    long long steps; /* chases: loads; others: chunks, or rounds of FMAs, of each CTA */
    long long first; /* chases: where they start, in bytes from `from` on */
    /* Reads and copies of global memory: chunks there are, and how many lie between those of neighbouring CTAs and
     * between those that a CTA takes in turn; both are below `chunks`, and behind the last one the first one follows.
     */
    long long chunks, between_ctas, between_steps;
} tsr_microbench_args;

#endif
