/* A macro's value as a string. */
#ifndef TSR_BLAS_QUOTE_H
#define TSR_BLAS_QUOTE_H

#define TSR_QUOTE_TEXT(text) #text
#define TSR_QUOTE(macro)     TSR_QUOTE_TEXT(macro)

#endif
