/* The element type of a kernel that is compiled once for each dtype: -DELEM_f32 or -DELEM_f64. */
#ifndef TSR_TILE_ELEMENT_H
#define TSR_TILE_ELEMENT_H

#include "ptx/arithmetic.h"

#if defined(ELEM_f32)
typedef float elem;
#define tsr_fma         tsr_fma_f32
#define epilogue_is_f64 0
#elif defined(ELEM_f64)
typedef double elem;
#define tsr_fma         tsr_fma_f64
#define epilogue_is_f64 1
#else
#error "give the element type: -DELEM_f32 or -DELEM_f64"
#endif

typedef elem epilogue_sum, epilogue_element;
#define epilogue_widen(x) (x)
#include "epilogue/epilogue.h"

#endif
