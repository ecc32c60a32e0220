/* Products take the rounding mode and the flush to zero of the thread that calls, in all their threads, whatever mode
 * another thread had when its product made the workers: two threads give the bits of one. */
#include <fenv.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/float_control.h"
#include "tessera.h"

enum { N = 400, ROUNDS = 20 };
#if defined(__x86_64__)
enum { FLUSH = 0x8040 }; /* FTZ and DAZ */
#else
enum { FLUSH = 1 << 24 }; /* FPCR.FZ */
#endif

static float a[N * N], b[N * N], expected[N * N], d[N * N];

static int product(float *to)
{
    return tsr_sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, b, N, 0, to, N) == TSR_OK;
}

/* Leaves workers behind that were made and used in this mode. */
static void *make_workers(void *unused)
{
    (void)unused;
    fesetround(FE_UPWARD);
    tsr_set_float_control(tsr_get_float_control() | FLUSH);
    for (int i = 0; i < 5; i++)
        product(d);
    return NULL;
}

/* In any bit. */
static int differ(const void *one, const void *other, size_t bytes)
{
    return memcmp(one, other, bytes) != 0;
}

/* Products of two threads that differ from one thread's. */
static int differing(void)
{
    int count = 0;
    tsr_set_threads(1);
    if (!product(expected))
        return ROUNDS;
    tsr_set_threads(0);
    for (int i = 0; i < ROUNDS; i++) {
        memset(d, 0xff, sizeof d);
        count += !product(d) || differ(d, expected, sizeof d);
    }
    return count;
}

static int count_in_mode(const char *name, int rounding, int flush)
{
    const tsr_float_control before = tsr_get_float_control();
    fesetround(rounding);
    if (flush)
        tsr_set_float_control(tsr_get_float_control() | FLUSH);
    const tsr_float_control control = tsr_get_float_control();
    const int count = differing() + (tsr_get_float_control() != control);
    tsr_set_float_control(before);
    fesetround(FE_TONEAREST);
    printf("%s: %d of %d products differ from one thread's\n", name, count, ROUNDS);
    return count;
}

int main(void)
{
    pthread_t thread;
    setenv("TESSERA_NUM_THREADS", "2", 1);
    setenv("TESSERA_DEVICE", "cpu", 1);
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(1 + i % 1009) / 1009;
        b[i] = (float)(1 + i % 1013) / 1013;
    }
    if (pthread_create(&thread, NULL, make_workers, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    int wrong = count_in_mode("nearest", FE_TONEAREST, 0) + count_in_mode("down", FE_DOWNWARD, 0) +
                count_in_mode("up", FE_UPWARD, 0) + count_in_mode("towards zero", FE_TOWARDZERO, 0);
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1e-22f; /* products are denormal */
    wrong += count_in_mode("denormals", FE_TONEAREST, 0);
    wrong += expected[0] == 0; /* one thread's, which does not flush */
    wrong += count_in_mode("flushed", FE_TONEAREST, 1);
    return wrong != 0;
}
