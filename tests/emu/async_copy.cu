/* D = A (f32, rows of 64) by cp.async in three stages, 16 threads; elements from column K on are zero. A thread copies
 * 4, 8 or 16 bytes at a time, by K. Rows are read backwards, so that threads meet each other's copies. */
#include "ptx/async_copy.h"
#include "ptx/barrier.h"

enum { WIDTH = 64, STAGES = 3, THREADS = 16, PART = WIDTH / THREADS };

TSR_DEVICE unsigned bytes_of(long long elements, unsigned most)
{
    const long long bytes = elements * 4;
    return bytes < 0 ? 0 : bytes > most ? most : (unsigned)bytes;
}

/* Starts the copy of this thread's part of a row. Sources of nothing are never looked at. */
TSR_DEVICE void start_row(const tsr_gemm_args *args, long long row, int x)
{
    float *to = (float *)TSR_SHARED + row % STAGES * WIDTH + PART * x;
    const float *from = (const float *)args->a + row * args->lda + PART * x;
    const long long rest = args->k - PART * x;
    if (args->k % 4 == 0) {
        tsr_copy_async_16(to, from, bytes_of(rest, 16));
    } else if (args->k % 2 == 0) {
        tsr_copy_async_8(to, from, bytes_of(rest, 8));
        tsr_copy_async_8(to + 2, from + 2, bytes_of(rest - 2, 8));
    } else {
        for (int i = 0; i < PART; i++)
            tsr_copy_async_4(to + i, from + i, bytes_of(rest - i, 4));
    }
}

TSR_KERNEL(THREADS)
{
    const int x = (int)threadIdx.x;
    for (long long row = 0; row < STAGES - 1; row++) {
        if (row < args.m)
            start_row(&args, row, x);
        tsr_copy_commit();
    }
    for (long long row = 0; row < args.m; row++) {
        tsr_copy_wait(STAGES - 2);
        tsr_barrier();
        if (row + STAGES - 1 < args.m)
            start_row(&args, row + STAGES - 1, x);
        tsr_copy_commit();
        const float *shared = (const float *)TSR_SHARED + row % STAGES * WIDTH;
        float *d = (float *)args.d + row * args.ldd;
        for (int i = 0; i < PART; i++)
            d[WIDTH - 1 - (PART * x + i)] = shared[WIDTH - 1 - (PART * x + i)];
    }
}
