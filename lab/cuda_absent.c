/* Stands in for the GPU's timer and cuBLAS in a tree that does not have them. */
#include <math.h>

#include "core/error.h"
#include "lab/peer.h"
#include "lab/timer.h"

#if !__has_include("lab/timer_cuda.c")
static tsr_status absent_timer(int ordinal, void **state)
{
    (void)state;
    return tsr_fail(TSR_UNSUPPORTED, "this build cannot time device cuda:%d", ordinal);
}
const lab_timer_ops lab_timer_cuda_ops = {.kind = "cuda", .open = absent_timer};
#endif

#if !__has_include("lab/peer_cublas.c")
static tsr_status absent_peer(int ordinal, int threads, void **state)
{
    (void)ordinal;
    (void)threads;
    (void)state;
    return tsr_fail(TSR_UNSUPPORTED, "this build has no cuBLAS peer");
}
const lab_peer_ops lab_peer_cublas = {.name = "cublas", .is_cuda = 1, .open = absent_peer};
#endif
