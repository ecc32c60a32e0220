/* One operand of a checked call: a buffer with guard bytes on both sides and in every gap, its picture in host memory,
 * and what may have changed in it. */
#ifndef LAB_GUARDED_H
#define LAB_GUARDED_H

#include "tessera.h"

typedef struct lab_guarded {
    tsr_context *context;
    tsr_dtype dtype;
    int64_t rows, columns, ld;   /* as stored */
    int64_t batch, batch_stride; /* elements */
    int on_device;
    size_t bytes;         /* of the whole buffer, guards included */
    size_t start_bytes;   /* of element 0 in it */
    unsigned char *image; /* what the buffer should hold */
    unsigned char *got;   /* what it held, after lab_guarded_fetch */
    void *memory;         /* as allocated */
    unsigned char *base;  /* aligned to 256 bytes, in `memory` */
} lab_guarded;

/* Allocates; the image is all guard pattern: NaN in every float type of two bytes and more, so that reading too far
 * spoils a sum. `offset` elements lie between a 256-byte boundary and element 0. Dimensions must be set. */
tsr_status lab_guarded_make(lab_guarded *g, int64_t offset);
void lab_guarded_free(lab_guarded *g); /* a zeroed struct is fine */

/* Element 0 in the image and in the buffer that calls get. */
void *lab_guarded_image(const lab_guarded *g);
void *lab_guarded_pointer(const lab_guarded *g);
/* Alignment of that pointer in bytes, at most 256. */
uint32_t lab_guarded_align(const lab_guarded *g);
/* Index of an element. */
int64_t lab_guarded_index(const lab_guarded *g, int64_t batch, int64_t row, int64_t column);
/* 1 if the element holds the guard pattern still, in what was fetched. */
int lab_guarded_unwritten(const lab_guarded *g, int64_t index);

/* Image to buffer; buffer to `got`. */
tsr_status lab_guarded_send(const lab_guarded *g);
tsr_status lab_guarded_fetch(lab_guarded *g);

/* Offset in bytes from element 0 of the first byte that differs from the image and may not; INT64_MAX if none does.
 * elements_may_change: the rows' own elements are D's, only guards and gaps must be as they were. Overwrites the
 * elements in `got` with those of the image then, so compare them first. */
int64_t lab_guarded_first_change(lab_guarded *g, int elements_may_change);

#endif
