/* The numbers of dtypes, as tsr_dtype has them, for device code: TSR_TYPE_F32 and so on. Includes no system header. */
#ifndef TSR_CORE_ELEMENT_TYPES_H
#define TSR_CORE_ELEMENT_TYPES_H

enum {
    TSR_TYPE_NONE,
#define TSR_ELEMENT(NAME, ...) TSR_TYPE_##NAME,
#include "core/elements.def"
#undef TSR_ELEMENT
    TSR_TYPE_COUNT
};

#endif
