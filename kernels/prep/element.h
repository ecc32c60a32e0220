/* elem: an element of ELEM_BYTES bytes, whatever it stands for: copies move bits. */
#ifndef TSR_PREP_ELEMENT_H
#define TSR_PREP_ELEMENT_H

#if ELEM_BYTES == 1
typedef unsigned char elem;
#elif ELEM_BYTES == 2
typedef unsigned short elem;
#elif ELEM_BYTES == 4
typedef unsigned elem;
#else
#error "give the bytes of an element: -DELEM_BYTES=1, 2 or 4"
#endif

#endif
