/* Which shapes stand for which lines of the table. Sizes are row-major: a linear layer of `tokens` rows is nt, the
 * gradient of its input nn, the gradient of its weights tn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublas/abi.h"
#include "cublas_table.h"

/* Operands and results of one type, or of two. */
#define SAME(type, cuda)                   .ab = type, .cuda_ab = cuda, .cd = type, .cuda_cd = cuda
#define PAIR(ab_, cuda_ab_, cd_, cuda_cd_) .ab = ab_, .cuda_ab = cuda_ab_, .cd = cd_, .cuda_cd = cuda_cd_
#define SUMS(compute_, unit_)              .compute = TSR_CUBLAS_COMPUTE_##compute_, .unit = unit_
#define BIASED                             .is_lt = 1, .has_bias = 1

/* Units of 16 bits let cuBLAS round the sums of parts of K to D's type, as it does for long K: 0.03 was measured in
 * bf16. */
const table_product table_products[TSR_TYPES_COUNT] = {
    [TSR_TYPES_BF16] = {SAME(TSR_BF16, TSR_CUDA_R_16BF), SUMS(32F, 6e-2)},
    [TSR_TYPES_F16] = {SAME(TSR_F16, TSR_CUDA_R_16F), SUMS(32F, 8e-3)},
    [TSR_TYPES_F32] = {SAME(TSR_F32, TSR_CUDA_R_32F), SUMS(32F, 1e-4)},
    [TSR_TYPES_TF32] = {SAME(TSR_F32, TSR_CUDA_R_32F), SUMS(32F_FAST_TF32, 5e-3)},
    [TSR_TYPES_F64] = {SAME(TSR_F64, TSR_CUDA_R_64F), SUMS(64F, 1e-12)},
    [TSR_TYPES_BF16_F32] = {PAIR(TSR_BF16, TSR_CUDA_R_16BF, TSR_F32, TSR_CUDA_R_32F), SUMS(32F, 1e-3)},
    [TSR_TYPES_F16_F32] = {PAIR(TSR_F16, TSR_CUDA_R_16F, TSR_F32, TSR_CUDA_R_32F), SUMS(32F, 1e-3)},
    [TSR_TYPES_BF16_BIAS] = {SAME(TSR_BF16, TSR_CUDA_R_16BF), SUMS(32F, 2e-2), BIASED},
    [TSR_TYPES_F16_BIAS] = {SAME(TSR_F16, TSR_CUDA_R_16F), SUMS(32F, 3e-3), BIASED},
    [TSR_TYPES_F32_BIAS] = {SAME(TSR_F32, TSR_CUDA_R_32F), SUMS(32F, 1e-4), BIASED},
    [TSR_TYPES_TF32_BIAS] = {SAME(TSR_F32, TSR_CUDA_R_32F), SUMS(32F_FAST_TF32, 5e-3), BIASED},
    [TSR_TYPES_E4M3_BF16] = {PAIR(TSR_E4M3, TSR_CUDA_R_8F_E4M3, TSR_BF16, TSR_CUDA_R_16BF), SUMS(32F, 2e-2),
                             .is_lt = 1},
    [TSR_TYPES_E4M3_BF16_FAST] = {PAIR(TSR_E4M3, TSR_CUDA_R_8F_E4M3, TSR_BF16, TSR_CUDA_R_16BF), SUMS(32F, 2e-2),
                                  .is_lt = 1, .is_fast = 1},
};

static int append(table_lines *to, const table_line *line)
{
    if (to->count == to->room) {
        const size_t room = to->room ? 2 * to->room : 256;
        table_line *more = realloc(to->lines, room * sizeof *more);
        if (!more)
            return 0;
        to->lines = more;
        to->room = room;
    }
    to->lines[to->count++] = *line;
    return 1;
}

void table_lines_free(table_lines *lines)
{
    free(lines->lines);
    *lines = (table_lines){0, 0, NULL};
}

/* Tight rows, as PyTorch's tensors mostly have, and pointers that are aligned. */
static table_shape tight(int types, const char *layout, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    table_shape out = {.types = types,
                       .trans_a = layout[0] == 't',
                       .trans_b = layout[1] == 't',
                       .m = m,
                       .n = n,
                       .k = k,
                       .batch = batch,
                       .stride_a = m * k,
                       .stride_b = n * k,
                       .stride_d = m * n,
                       .ldd = n};
    out.lda = out.trans_a ? m : k;
    out.ldb = out.trans_b ? k : n;
    out.align_a = tsr_measured_align(0, out.lda, out.stride_a, batch, tsr_dtype_bytes(table_products[types].ab));
    out.align_b = tsr_measured_align(0, out.ldb, out.stride_b, batch, tsr_dtype_bytes(table_products[types].ab));
    out.align_d = tsr_measured_align(0, out.ldd, out.stride_d, batch, tsr_dtype_bytes(table_products[types].cd));
    return out;
}

static int add_shape(table_lines *to, int types, const char *layout, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    const table_line line = {.sample_count = 1, .samples = {tight(types, layout, m, n, k, batch)}};
    return append(to, &line);
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* How a size is aligned: a multiple of `elems`, and of no more unless that is 8; 0: any size. */
static int64_t size_in_class(int exponent, double part, int elems)
{
    const int64_t least = (int64_t)1 << exponent;
    int64_t size = (int64_t)((double)least * part);
    if (elems == 8)
        size -= size % 8;
    else if (elems > 0)
        size = size - size % (2 * elems) + elems;
    return size < least ? least : size >= 2 * least ? 2 * least - 1 : size;
}

/* A class by the exponents of its sizes, with three shapes that lie apart in it. 0 if the class has no such sizes. */
static int make_class(int types, const char *layout, const int exponents[3], const int elems[3], table_line *out)
{
    static const double parts[TABLE_SAMPLES_MAX][3] = {{1.0, 1.0, 1.0}, {1.31, 1.73, 1.37}, {1.79, 1.27, 1.0}};
    *out = (table_line){.is_class = 1, .exponents = {exponents[0], exponents[1], exponents[2], 0}};
    for (int s = 0; s < TABLE_SAMPLES_MAX; s++) {
        int64_t size[3];
        for (int i = 0; i < 3; i++)
            size[i] = size_in_class(exponents[i], parts[s][i], elems[i]);
        const table_shape shape = tight(types, layout, size[0], size[1], size[2], 1);
        const table_shape *first = s ? &out->samples[0] : &shape;
        if (shape.align_a != first->align_a || shape.align_b != first->align_b || shape.align_d != first->align_d)
            return 0;
        out->samples[out->sample_count++] = shape;
    }
    return 1;
}

static int add_class(table_lines *to, int types, const char *layout, const int exponents[3], const int elems[3])
{
    table_line line;
    return !make_class(types, layout, exponents, elems, &line) || append(to, &line);
}

/* All classes of m = 2^m_low to 2^m_high by weights of 2^n x 2^k, alignments as given. */
static int add_classes(table_lines *to, int types, const char *layout, int m_low, int m_high, const int elems[3])
{
    static const int weights[][2] = {{9, 9},   {9, 11},  {11, 9},  {10, 10}, {11, 10}, {10, 11}, {12, 10}, {10, 12},
                                     {11, 11}, {12, 11}, {11, 12}, {12, 12}, {13, 12}, {12, 13}, {13, 13}, {15, 9},
                                     {9, 15},  {15, 10}, {10, 15}, {15, 11}, {11, 15}, {15, 12}, {12, 15}};
    for (int m = m_high; m >= m_low; m--)
        for (size_t w = 0; w < sizeof weights / sizeof weights[0]; w++) {
            /* The gradient of the weights has the tokens along its k. */
            const int is_weights = strcmp(layout, "tn") == 0;
            const int exponents[3] = {is_weights ? weights[w][0] : m, is_weights ? weights[w][1] : weights[w][0],
                                      is_weights ? m : weights[w][1]};
            if (!add_class(to, types, layout, exponents, elems))
                return 0;
        }
    return 1;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* A linear layer with its two gradients. */
static int add_layer(table_lines *to, int types, int64_t tokens, int64_t outputs, int64_t inputs)
{
    return add_shape(to, types, "nt", tokens, outputs, inputs, 1) &&
           add_shape(to, types, "nn", tokens, inputs, outputs, 1) &&
           add_shape(to, types, "tn", outputs, inputs, tokens, 1);
}

/* Layers of the models of bench/torch: GPT-2's head and blocks, BERT-large, a Llama-like block, a mixture of experts.
 * PyTorch gives a bias, and 8-bit operands, to the forward product alone. */
static int add_models(table_lines *to, int types)
{
    const int is_forward = table_products[types].is_lt;
    static const int64_t layers[][3] = {
        {16384, 50257, 768},  {16384, 50304, 768}, {16384, 2304, 768}, {16384, 768, 768},  {16384, 3072, 768},
        {16384, 768, 3072},   {4096, 1024, 1024},  {4096, 4096, 1024}, {4096, 1024, 4096}, {4096, 4096, 4096},
        {4096, 14336, 4096},  {4096, 4096, 14336}, {512, 14336, 4096}, {512, 4096, 14336}, {4096, 32000, 4096},
        {4096, 128256, 4096}, {4096, 30522, 1024},
    };
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        if (is_forward ? !add_shape(to, types, "nt", layers[i][0], layers[i][1], layers[i][2], 1)
                       : !add_layer(to, types, layers[i][0], layers[i][1], layers[i][2]))
            return 0;
    return 1;
}

/* Products of attention, batched over sequences and heads. */
static int add_attention(table_lines *to, int types)
{
    return add_shape(to, types, "nt", 1024, 1024, 64, 192) && add_shape(to, types, "nn", 1024, 64, 1024, 192) &&
           add_shape(to, types, "tn", 1024, 64, 1024, 192) && add_shape(to, types, "nt", 512, 512, 64, 128) &&
           add_shape(to, types, "nn", 512, 64, 512, 128) && add_shape(to, types, "tn", 512, 64, 512, 128);
}

int table_default_lines(table_lines *out)
{
    static const int types[] = {TSR_TYPES_BF16, TSR_TYPES_F16, TSR_TYPES_F32, TSR_TYPES_TF32};
    static const int forward[] = {TSR_TYPES_BF16_BIAS, TSR_TYPES_E4M3_BF16, TSR_TYPES_E4M3_BF16_FAST,
                                  TSR_TYPES_F16_BIAS,  TSR_TYPES_TF32_BIAS, TSR_TYPES_F32_BIAS};
    static const size_t forward_count = sizeof forward / sizeof forward[0];
    static const int odd_n[3] = {0, 1, 8}, odd_k[3] = {0, 8, 1}, odd_both[3] = {0, 1, 1}, even_n[3] = {0, 2, 8},
                     even_k[3] = {0, 8, 2}, aligned[3] = {0, 8, 8};
    static const int odd_m_of_tn[3] = {1, 8, 0}, odd_n_of_tn[3] = {8, 1, 0}, aligned_tn[3] = {8, 8, 0};
    int good = 1;
    *out = (table_lines){0, 0, NULL};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        good = good && add_models(out, types[t]) && add_attention(out, types[t]);
    for (size_t t = 0; t < forward_count; t++)
        good = good && add_models(out, forward[t]);
    for (size_t t = 0; t < 2; t++)
        good = good && add_classes(out, types[t], "nt", 8, 14, odd_n) &&
               add_classes(out, types[t], "nn", 8, 14, odd_k) && add_classes(out, types[t], "tn", 8, 14, odd_m_of_tn) &&
               add_classes(out, types[t], "tn", 8, 14, odd_n_of_tn) && add_classes(out, types[t], "nt", 8, 14, odd_k) &&
               add_classes(out, types[t], "nn", 8, 14, odd_n) && add_classes(out, types[t], "nt", 8, 14, odd_both) &&
               add_classes(out, types[t], "nn", 8, 14, odd_both);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        good = good && add_classes(out, types[t], "nt", 0, 14, aligned) &&
               add_classes(out, types[t], "nn", 4, 14, aligned) && add_classes(out, types[t], "tn", 8, 14, aligned_tn);
    for (size_t t = 0; t < 2; t++)
        good = good && add_classes(out, types[t], "nt", 0, 7, odd_n) && add_classes(out, types[t], "nt", 0, 7, odd_k) &&
               add_classes(out, types[t], "nt", 0, 14, even_n) && add_classes(out, types[t], "nt", 0, 14, even_k) &&
               add_classes(out, types[t], "nn", 8, 14, even_n) && add_classes(out, types[t], "nn", 8, 14, even_k);
    for (size_t t = 0; t < forward_count; t++)
        good = good && add_classes(out, forward[t], "nt", 4, 14, aligned);
    if (!good)
        table_lines_free(out);
    return good;
}

/* ---- a call log -------------------------------------------------------------------------------------------------- */

static int types_by_name(const char *name)
{
    int types = 0;
    while (types < TSR_TYPES_COUNT && strcmp(name, tsr_measured_types_name(types)) != 0)
        types++;
    return types;
}

/* With a bias if the call had one; TSR_TYPES_COUNT for an epilogue of which the table has no lines, and for 8-bit
 * operands, since the log does not say how a call that was handed on scales and sums them. */
static int types_of_call(const char *line, const char *name)
{
    const int types = types_by_name(name);
    const char *epilogue = strstr(line, " epilogue=");
    if (types == TSR_TYPES_COUNT || table_products[types].is_lt)
        return TSR_TYPES_COUNT;
    if (!epilogue)
        return types;
    const int number = atoi(epilogue + strlen(" epilogue=")), with_bias = tsr_measured_with_bias(types);
    const int has_bias = number == TSR_LT_EPILOGUE_BIAS || number == TSR_LT_EPILOGUE_RELU_BIAS;
    return has_bias && with_bias >= 0 ? with_bias : TSR_TYPES_COUNT;
}

/* 1 and the shape if the line is of a product that the table may have a line of. */
static int read_call(const char *line, table_shape *out)
{
    char types[32], layout[3];
    long long m, n, k, lda, ldb, ldd, batch, stride_a, stride_b, stride_d;
    *out = (table_shape){0};
    if (sscanf(
            line,
            "tessera-cublas %*s types=%31s layout=%2s align=%d,%d,%d m=%lld n=%lld k=%lld lda=%lld ldb=%lld ldc=%lld "
            "batch=%lld stride_a=%lld stride_b=%lld stride_c=%lld",
            types, layout, &out->align_a, &out->align_b, &out->align_d, &m, &n, &k, &lda, &ldb, &ldd, &batch, &stride_a,
            &stride_b, &stride_d) != 15)
        return 0;
    out->types = types_of_call(line, types);
    out->trans_a = layout[0] == 't';
    out->trans_b = layout[1] == 't';
    out->m = m;
    out->n = n;
    out->k = k;
    out->batch = batch;
    out->lda = lda;
    out->ldb = ldb;
    out->ldd = ldd;
    out->stride_a = stride_a;
    out->stride_b = stride_b;
    out->stride_d = stride_d;
    return out->types < TSR_TYPES_COUNT && m > 0 && n > 0 && k > 0 && batch > 0 && lda > 0 && ldb > 0 && ldd > 0;
}

/* What makes two shapes one line. */
static int is_same(const table_shape *p, const table_shape *q)
{
    return p->types == q->types && p->trans_a == q->trans_a && p->trans_b == q->trans_b && p->m == q->m &&
           p->n == q->n && p->k == q->k && p->batch == q->batch && p->align_a == q->align_a &&
           p->align_b == q->align_b && p->align_d == q->align_d;
}

int table_lines_of_log(const char *path, table_lines *out, char error[256])
{
    char line[1024];
    FILE *from = fopen(path, "r");
    *out = (table_lines){0, 0, NULL};
    int good = from != NULL;
    while (good && fgets(line, sizeof line, from)) {
        table_line added = {.sample_count = 1};
        int is_new = read_call(line, &added.samples[0]);
        for (size_t i = 0; i < out->count && is_new; i++)
            is_new = !is_same(&out->lines[i].samples[0], &added.samples[0]);
        good = !is_new || append(out, &added);
    }
    if (from)
        fclose(from);
    if (good && out->count > 0)
        return 1;
    snprintf(error, 256, "%s: %s", path,
             !from  ? "cannot be read"
             : good ? "has no product of libtessera_cublas's call log"
                    : "too many products for this memory");
    table_lines_free(out);
    return 0;
}

/* ---- as the table has it ----------------------------------------------------------------------------------------- */

void table_line_key(const table_line *line, const char *chip, const char *version, char out[256])
{
    static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
    const table_shape *first = &line->samples[0];
    int used = snprintf(out, 256, "%s\t%s\t%s\t%s\t%d,%d,%d", chip, version, tsr_measured_types_name(first->types),
                        layouts[2 * first->trans_a + first->trans_b], first->align_a, first->align_b, first->align_d);
    if (line->is_class)
        snprintf(out + used, 256 - (size_t)used, "\t2^%d\t2^%d\t2^%d\t2^%d", line->exponents[0], line->exponents[1],
                 line->exponents[2], line->exponents[3]);
    else
        snprintf(out + used, 256 - (size_t)used, "\t%lld\t%lld\t%lld\t%lld", (long long)first->m, (long long)first->n,
                 (long long)first->k, (long long)first->batch);
}
