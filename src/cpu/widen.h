/* Elements of 8 and 16 bits as f32, exactly. */
#ifndef TSR_CPU_WIDEN_H
#define TSR_CPU_WIDEN_H

#include <stdint.h>

#include "core/dtype.h"
#include "core/scaling.h"

/* cpu/widened.c: rows and columns of a block of D, whose sums lie beside it in f32, and the steps of K that are widened
 * at a time. */
enum { TSR_WIDENED_ROWS = 512, TSR_WIDENED_COLUMNS = 1024, TSR_WIDENED_STEPS = 2048 };

/* Reads one operand. An 8-bit type has 256 values: all of them are found once. */
typedef struct tsr_widener {
    tsr_dtype dtype;
    float values[256];
} tsr_widener;

static inline tsr_widener tsr_widener_of(tsr_dtype dtype)
{
    tsr_widener w = {.dtype = dtype};
    for (int i = 0; i < 256 && tsr_dtype_bytes(dtype) == 1; i++) {
        const uint8_t bits = (uint8_t)i;
        w.values[i] = (float)tsr_load_element(dtype, &bits, 0);
    }
    return w;
}

/* `count` neighbours from element `first` of an array on. */
static inline void tsr_widen(const tsr_widener *w, const void *array, long long first, long long count, float *to)
{
    const uint8_t *const bytes = (const uint8_t *)array + first;
    const uint16_t *const halves = (const uint16_t *)array + first;
    if (w->dtype == TSR_F16)
        for (long long i = 0; i < count; i++)
            to[i] = tsr_f16_to_f32(halves[i]);
    else if (w->dtype == TSR_BF16)
        for (long long i = 0; i < count; i++)
            to[i] = tsr_bf16_to_f32(halves[i]);
    else
        for (long long i = 0; i < count; i++)
            to[i] = w->values[bytes[i]];
}

/* The zero point of row or column `at`, whose type is the operand's; `zeros` may be NULL. */
static inline int32_t tsr_zero_point(const tsr_widener *w, const void *zeros, int mode, long long at)
{
    return zeros ? (int32_t)w->values[((const uint8_t *)zeros)[mode == TSR_SCALING_VECTOR ? at : 0]] : 0;
}

static inline float tsr_widen_one(const tsr_widener *w, const void *array, long long index)
{
    float value;
    tsr_widen(w, array, index, 1, &value);
    return value;
}

#endif
