/* How one product is partitioned over the CTAs of a device: part of every kernel's arguments, shared by host and device
 * code, so it includes nothing. */
#ifndef TSR_CORE_SCHEDULE_H
#define TSR_CORE_SCHEDULE_H

typedef struct tsr_schedule {
    /* Parts of K that CTAs of their own multiply, the same number for each tile of D. 1: K is whole. */
    int split_k;
    /* CTAs of a cluster that have parts of one tile and add them up through shared memory (cluster reduction). It
     * divides split_k; what is left after it is added up in the workspace. 1: none. */
    int cluster_k;
    /* Stream-K (Osama, Merrill, Cecka, Garland and Owens, PPoPP 2023): the iterations along K of the first
     * stream_k_tiles tiles are shared out evenly over stream_k_units work units (CTAs or, in kernels with clusters of
     * tiles, clusters); each other tile is whole. 0 and 0: none. */
    int stream_k_tiles, stream_k_units;
    /* 1: the kernel computes D^T = op(B)^T op(A)^T, so that the columns of its tiles lie along M. */
    int swap_ab;
} tsr_schedule;

#endif
