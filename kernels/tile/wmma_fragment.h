/* Fragments of the type that a kernel is compiled for: loads from shared memory, and the product. */
#ifndef TSR_TILE_WMMA_FRAGMENT_H
#define TSR_TILE_WMMA_FRAGMENT_H

#include "ptx/wmma.h"
#include "tile/tensor_element.h"

#if defined(ELEM_bf16)
typedef tsr_wmma_bf16 fragment;
#define load_a   tsr_wmma_load_a_bf16
#define load_b   tsr_wmma_load_b_bf16
#define multiply tsr_wmma_multiply_bf16
#else
typedef tsr_wmma_f16 fragment;
#define load_a   tsr_wmma_load_a_f16
#define load_b   tsr_wmma_load_b_f16
#define multiply tsr_wmma_multiply_f16
#endif

#endif
