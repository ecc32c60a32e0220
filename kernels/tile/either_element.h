/* D's element type in kernels/gemm/wgmma_skinny.cu: -DOUT_either, that of A, bf16 or f16, or f32, as args.type_d says;
 * -DOUT_f32, f32 alone; or -DOUT_any, the one that args.type_d names, which tile/any_scaled.h stores. `wide`: 1 if it
 * is f32. */
#ifndef TSR_TILE_EITHER_ELEMENT_H
#define TSR_TILE_EITHER_ELEMENT_H

#include "ptx/arithmetic.h"
#include "ptx/pack.h"
#include "ptx/vector.h"

#if defined(OUT_any)
#include "tile/any_scaled.h"
#elif defined(OUT_either) || defined(OUT_f32)

#if defined(ELEM_f16)
#define tile_pack   tsr_pack_f16
#define tile_unpack tsr_unpack_f16
#define tile_widen  tsr_widen_f16
#define tile_narrow tsr_narrow_f16
#else
#define tile_pack   tsr_pack_bf16
#define tile_unpack tsr_unpack_bf16
#define tile_widen  tsr_widen_bf16
#define tile_narrow tsr_narrow_bf16
#endif

/* C, D and the bias are bytes, whose elements are loaded and stored by their type. */
#define epilogue_is_f64   0
#define epilogue_widen(x) ((float)(x))
typedef float epilogue_sum;
typedef unsigned char epilogue_element;
#include "epilogue/epilogue.h"

TSR_DEVICE int tile_is_wide(const tsr_gemm_args *args)
{
#if defined(OUT_f32)
    (void)args;
    return 1;
#else
    return args->type_d == TSR_TYPE_F32;
#endif
}

TSR_DEVICE int tile_bytes(int wide)
{
    return wide ? 4 : 2;
}

TSR_DEVICE float tile_load(int wide, const unsigned char *from)
{
    return wide ? *(const float *)(const void *)from : tile_widen(*(const unsigned short *)(const void *)from);
}

TSR_DEVICE void tile_store(int wide, unsigned char *to, float value)
{
    if (wide)
        *(float *)(void *)to = value;
    else
        *(unsigned short *)(void *)to = tile_narrow(value);
}

/* Four neighbours, aligned to as many elements, by one store. */
TSR_DEVICE void tile_store_four(int wide, unsigned char *to, const float value[4])
{
    if (wide) {
        tsr_f32x4 four = {0, 0, 0, 0};
        TSR_UNROLL
        for (int i = 0; i < 4; i++)
            tsr_lane(four, i) = value[i];
        tsr_store_f32x4((float *)(void *)to, four);
    } else {
        tsr_store_u32x2((unsigned *)(void *)to, tile_pack(value[0], value[1]), tile_pack(value[2], value[3]));
    }
}

#else
#error "give D's type: -DOUT_either, -DOUT_f32 or -DOUT_any"
#endif

#endif
