/* The table of measurements: for which products Tessera is faster than which cuBLAS on which chip. It is a text file
 * (measured.tsv, compiled in, or $TESSERA_CUBLAS_TABLE), one line a measurement, columns apart by tabs:
 *
 *     chip     the GPU's name without "NVIDIA ", with "-" for spaces: "H200"
 *     cublas   its version, MAJOR.MINOR
 *     types    bf16, f16, f32, tf32 (f32 operands of a call that allows TF32), f64, bf16-f32 or f16-f32 (f32 results);
 *              bf16+bias, f16+bias, f32+bias or tf32+bias: with a bias, and with or without ReLU behind it;
 *              e4m3-bf16: one scale an operand; e4m3-bf16-fast: with cuBLAS's FAST_ACCUM
 *     layout   nn, nt, tn, tt: of the row-major product D = A B, as everywhere in Tessera
 *     align    bytes to which A, B and D are aligned, pointers and rows, at most 16: "16,16,2"
 *     m n k batch   all plain numbers: this one shape; or all 2^x: shapes whose sizes lie in [2^x, 2^(x+1))
 *     ratio    time of cuBLAS / time of Tessera: of a 2^x line the lowest of the shapes that were measured
 *     low      lower end of the 95% interval of that ratio
 *     date     YYYY-MM-DD
 *
 * A call is answered if a line for its shape, or else a line of its 2^x class, has a low that is enough for the product
 * (tsr_measured_enough). No line: the call goes to cuBLAS. Lines that begin with "#" are notes. */
#ifndef TSR_CUBLAS_MEASURED_H
#define TSR_CUBLAS_MEASURED_H

#include <stddef.h>
#include <stdint.h>

/* The least gain that is worth answering for, beyond what varies from day to day. */
#define TSR_MEASURED_ENOUGH 1.03
/* The same in time: what a line promises below that, a program does not see. In a captured step of BERT-large on an
 * H200 eleven products, each 3 to 17% faster by its line, made the step of 0.9 ms 20 to 35 us slower
 * (docs/PERFORMANCE.md). It may be that lines are measured with a product behind itself, where launches overlap, and
 * with a cold L2. */
#define TSR_MEASURED_ENOUGH_US 3.0

enum { TSR_MEASURED_ALIGN_MAX_BYTES = 16, TSR_MEASURED_CHIP_BYTES = 48 };

typedef enum tsr_measured_types {
    TSR_TYPES_BF16,
    TSR_TYPES_F16,
    TSR_TYPES_F32,
    TSR_TYPES_TF32,
    TSR_TYPES_F64,
    TSR_TYPES_BF16_F32,
    TSR_TYPES_F16_F32,
    TSR_TYPES_BF16_BIAS, /* what stands from here on is asked for by cublasLtMatmul alone */
    TSR_TYPES_F16_BIAS,
    TSR_TYPES_F32_BIAS,
    TSR_TYPES_TF32_BIAS,
    TSR_TYPES_E4M3_BF16,
    TSR_TYPES_E4M3_BF16_FAST,
    TSR_TYPES_COUNT
} tsr_measured_types;

/* What a line is found by. Sizes are those of the row-major product; alignments are powers of two up to 16. */
typedef struct tsr_measured_key {
    int64_t m, n, k, batch;
    int types;            /* tsr_measured_types */
    int trans_a, trans_b; /* 0 or 1 */
    int align_a, align_b, align_d;
} tsr_measured_key;

typedef enum tsr_measured_answer { TSR_MEASURED_NO_LINE, TSR_MEASURED_SLOWER, TSR_MEASURED_FASTER } tsr_measured_answer;

typedef struct tsr_measured tsr_measured;

/* The table in `text`, `bytes` long. NULL when memory runs out. *bad_line gets the number of the first line that says
 * nothing, 0 if there is none; such lines are left out. The caller owns the result, and several threads may look
 * things up in it at the same time. */
tsr_measured *tsr_measured_read(const char *text, size_t bytes, int *bad_line);
void tsr_measured_free(tsr_measured *table); /* NULL is fine */

/* The lines for one chip and cuBLAS version (MAJOR * 100 + MINOR): a number for `tsr_measured_look`, -1 for no line.
 * How many there are, each key counted once. */
int tsr_measured_find(const tsr_measured *table, const char *chip, int cublas_version);
int tsr_measured_lines(const tsr_measured *table, int group);
/* 1 if the group may have a line for these sizes, whatever the rest of the key. */
int tsr_measured_may(const tsr_measured *table, int group, int64_t m, int64_t n, int64_t k);
/* The least low by which such a product is answered: TSR_MEASURED_ENOUGH, and TSR_MEASURED_ENOUGH_US of a time that is
 * estimated from its operations. */
double tsr_measured_enough(const tsr_measured_key *key);
tsr_measured_answer tsr_measured_look(const tsr_measured *table, int group, const tsr_measured_key *key);

/* The next line of the group that is of one shape and says that it is answered, in no particular order, from *at == 0
 * on; 0: there are no more. */
int tsr_measured_next(const tsr_measured *table, int group, size_t *at, tsr_measured_key *key);

/* The column "chip" of a GPU that its driver calls `name`. */
void tsr_measured_chip(const char *name, char out[TSR_MEASURED_CHIP_BYTES]);

/* The alignment in bytes, at most 16, that the address and all rows of all problems have. `address` may be 0. */
int tsr_measured_align(uintptr_t address, int64_t ld, int64_t stride, int64_t batch, size_t element_bytes);

/* The same types with a bias; -1 where the table has no lines of those. */
int tsr_measured_with_bias(int types);

/* Names as the table's column has them; "?" when out of range. */
const char *tsr_measured_types_name(int types);

#endif
