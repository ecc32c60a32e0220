/* D's element type in the Hopper kernels: one of -DOUT_bf16, -DOUT_f16, -DOUT_f32; or -DOUT_any, the one that
 * args.type_d names, which tile/any_scaled.h stores. */
#ifndef TSR_TILE_WGMMA_ELEMENT_H
#define TSR_TILE_WGMMA_ELEMENT_H

#include "ptx/arithmetic.h"
#include "ptx/pack.h"
#include "ptx/vector.h"

#if defined(OUT_bf16)
#define tile_pack   tsr_pack_bf16
#define tile_unpack tsr_unpack_bf16
#define tile_widen  tsr_widen_bf16
#define tile_narrow tsr_narrow_bf16
typedef unsigned short tile_element;
enum { OUT_BYTES = 2 };
#elif defined(OUT_f16)
#define tile_pack   tsr_pack_f16
#define tile_unpack tsr_unpack_f16
#define tile_widen  tsr_widen_f16
#define tile_narrow tsr_narrow_f16
typedef unsigned short tile_element;
enum { OUT_BYTES = 2 };
#elif defined(OUT_f32)
#define tile_widen(value)  (value)
#define tile_narrow(value) (value)
typedef float tile_element;
enum { OUT_BYTES = 4 };
#elif defined(OUT_any)
#include "tile/any_scaled.h"
typedef unsigned char tile_element;
enum { OUT_BYTES = 1 };
#else
#error "give D's type: -DOUT_bf16, -DOUT_f16, -DOUT_f32 or -DOUT_any"
#endif

#if !defined(OUT_any)

/* Four values, rounded, to `to`, which is aligned to as many elements: one store. */
TSR_DEVICE void tile_store_four(tile_element *to, const float value[4])
{
#if defined(OUT_f32)
    tsr_f32x4 four = {0, 0, 0, 0};
    TSR_UNROLL
    for (int i = 0; i < 4; i++)
        tsr_lane(four, i) = value[i];
    tsr_store_f32x4(to, four);
#else
    tsr_store_u32x2((unsigned *)to, tile_pack(value[0], value[1]), tile_pack(value[2], value[3]));
#endif
}

#define epilogue_is_f64 0
#define epilogue_widen  tile_widen
typedef float epilogue_sum;
typedef tile_element epilogue_element;
#include "epilogue/epilogue.h"

#endif

#endif
