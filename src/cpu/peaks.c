/* Short measurements of what a core can do. */
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "core/claim.h"
#include "core/memory.h"
#include "cpu/machine.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What a clock that stands still, or goes in steps longer than a measurement, cannot tell. */
static const double guessed_flops = 10e9, guessed_bytes_per_s = 10e9;

/* The largest register tile on operands of one L1 cache line each step: all that remains is multiply-adds. */
static double peak_flops(const tsr_tiles *tiles)
{
    enum { STEPS = 512, RUNS = 12 };
    _Alignas(64) char zeros[256] = {0}, d[12 * 256];
    const tsr_micro tile = {.k = STEPS, .a = zeros, .b = zeros, .d = d, .d_row_bytes = 256, .alpha = 1, .n = tiles->nr};
    tsr_micro_run *run = tsr_tile_of(tiles, tiles->mr, tiles->nr);
    const double flops = 2.0 * tiles->mr * tiles->nr * STEPS;
    double best_s = 0;
    for (int i = 0; i < RUNS; i++) {
        const double start_s = now_s();
        for (int repeat = 0; repeat < 16; repeat++)
            run(&tile);
        const double s = (now_s() - start_s) / 16;
        if (s > 0 && (best_s <= 0 || s < best_s))
            best_s = s;
    }
    return best_s > 0 ? flops / best_s : guessed_flops;
}

/* A buffer that was written past the caches, read a few times. */
static double read_bytes_per_s(void)
{
#if defined(__x86_64__)
    const size_t bytes = (size_t)8 << 20;
    double best = 0;
    char *const buffer = tsr_alloc(NULL, 4096, bytes);
    if (!buffer)
        return guessed_bytes_per_s;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < bytes; i += 16)
            _mm_stream_si128((__m128i *)(buffer + i), _mm_set1_epi32(round));
        _mm_sfence();
        __m128i sum[4] = {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()};
        const double start_s = now_s();
        for (size_t i = 0; i < bytes; i += 64)
            for (int lane = 0; lane < 4; lane++)
                sum[lane] = _mm_add_epi32(sum[lane], _mm_load_si128((const __m128i *)(buffer + i + 16 * lane)));
        sum[0] = _mm_add_epi32(_mm_add_epi32(sum[0], sum[1]), _mm_add_epi32(sum[2], sum[3]));
        volatile int used = _mm_cvtsi128_si32(sum[0]);
        (void)used;
        const double s = now_s() - start_s, rate = s > 0 ? (double)bytes / s : 0;
        best = rate > best ? rate : best;
    }
    tsr_free(NULL, buffer);
    return best > 0 ? best : guessed_bytes_per_s;
#else
    return guessed_bytes_per_s;
#endif
}

tsr_cpu_rates tsr_cpu_measured_rates(void)
{
    static tsr_claim measured;
    static tsr_cpu_rates rates;
    if (tsr_claim_begin(&measured)) {
        const tsr_isa *isa = tsr_isa_best();
        rates = (tsr_cpu_rates){peak_flops(&isa->f32), peak_flops(&isa->f64), read_bytes_per_s()};
        tsr_claim_end(&measured);
    }
    return rates;
}
