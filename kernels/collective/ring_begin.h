/* How the warps of a kernel with a ring begin, when one lane has made its mbarriers. */
#ifndef TSR_COLLECTIVE_RING_BEGIN_H
#define TSR_COLLECTIVE_RING_BEGIN_H

#include "ptx/barrier.h"
#include "ptx/cluster.h"

/* All warps have come, of all `ctas` CTAs of the cluster, a constant. Where boxes go to one CTA alone, producers need
 * not wait for it: its `threads` meet at the named barrier `start`. */
TSR_DEVICE void ring_begin(int ctas, int is_producer, unsigned start, unsigned threads)
{
    if (ctas > 1) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    } else if (is_producer) {
        tsr_named_barrier_arrive(start, threads);
    } else {
        tsr_named_barrier(start, threads);
    }
}

#endif
