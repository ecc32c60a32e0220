/* D's element type in kernels/gemm/wgmma.cu and kernels/prep/reduce.cu: one of -DOUT_bf16, -DOUT_f16, -DOUT_f32. */
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
#else
#error "give D's type: -DOUT_bf16, -DOUT_f16 or -DOUT_f32"
#endif

#define epilogue_is_f64 0
#define epilogue_widen  tile_widen
typedef float epilogue_sum;
typedef tile_element epilogue_element;
#include "epilogue/epilogue.h"

#endif
