#include "lab/verify/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/dtype.h"
#include "core/epilogue.h"
#include "core/error.h"
#include "lab/verify/pairwise.h"

/* Where factors stand in a row of a cover. */
enum {
    F_LAYOUT,
    F_ALPHA,
    F_BETA,
    F_M,
    F_N,
    F_K,
    F_PAD_A,
    F_PAD_B,
    F_PAD_C,
    F_PAD_D,
    F_OFFSET,
    F_C_MODE,
    F_BATCH,
    F_FILL,
    F_MEMORY,
    F_ALIGN,
    F_NULL,
    F_PREPARED,
    F_EPILOGUE,
    F_THREADS,
    F_TWICE,
    FACTORS
};

/* Levels of the factors that are the same for all kernels. */
static const double alphas[] = {1.0, -1.0, 0.5, 0.0}; /* 0 only where it may hide the product */
static const double betas[] = {0.0, 1.0, -1.0, 0.5};
static const int64_t pads[] = {0, 1, 11};
static const int64_t offsets[][4] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 3, 0, 0}, {0, 0, 1, 1}, {5, 1, 3, 1}};
static const lab_fill_kind fills[] = {LAB_FILL_NORMAL, LAB_FILL_INTEGERS, LAB_FILL_SPECIAL};
static const int threads[] = {0, 1, 2, 3};

#define COUNT(array) (int)(sizeof(array) / sizeof(array)[0])

/* Sizes that a kernel's tiles make interesting, ascending and without repetition. */
typedef struct size_levels {
    int64_t values[LAB_LEVELS_MAX];
    int count;
} size_levels;

static void add_size(size_levels *sizes, int64_t value)
{
    for (int i = 0; i < sizes->count; i++)
        if (sizes->values[i] == value)
            return;
    if (value > 0 && sizes->count < LAB_LEVELS_MAX)
        sizes->values[sizes->count++] = value;
}

static int64_t prime_above(int64_t value)
{
    for (int64_t candidate = value + 1;; candidate++) {
        int is_prime = candidate > 1;
        for (int64_t d = 2; d * d <= candidate && is_prime; d++)
            is_prime = candidate % d != 0;
        if (is_prime)
            return candidate;
    }
}

/* tile 0: the kernel (a CPU's) does not say; then sizes around the usual register tiles and vector lengths. */
static size_levels sizes_around(int tile)
{
    static const int64_t unknown[] = {1, 2, 7, 8, 15, 17, 24, 31, 33, 48, 67, 101};
    size_levels sizes = {{0}, 0};
    if (tile == 0) {
        for (int i = 0; i < COUNT(unknown); i++)
            add_size(&sizes, unknown[i]);
        return sizes;
    }
    add_size(&sizes, 1);
    add_size(&sizes, tile - 1);
    add_size(&sizes, tile);
    add_size(&sizes, tile + 1);
    add_size(&sizes, 2 * tile);
    add_size(&sizes, prime_above(2 * tile));
    return sizes;
}

tsr_status lab_cases_add(lab_case_list *list, const lab_case *c)
{
    if ((list->count & (list->count - 1)) == 0) { /* full: capacities are powers of two */
        lab_case *items = realloc(list->items, (list->count == 0 ? 1 : 2 * list->count) * sizeof *items);
        if (items == NULL)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the list of cases");
        list->items = items;
    }
    list->items[list->count] = *c;
    /* Data of its own for each case. */
    list->items[list->count].seed = c->seed + list->count * 16;
    list->count++;
    return TSR_OK;
}

static int64_t batch_of(lab_batch_mode mode)
{
    return mode == LAB_BATCH_ONE ? 1 : mode == LAB_BATCH_TIGHT || mode == LAB_BATCH_GAPS ? 3 : 2;
}

static lab_case case_of_row(const unsigned char *row, const size_levels sizes[3], uint64_t seed)
{
    lab_case c;
    memset(&c, 0, sizeof c);
    c.trans_a = row[F_LAYOUT] & 1;
    c.trans_b = row[F_LAYOUT] >> 1;
    c.alpha = alphas[row[F_ALPHA]];
    c.beta = betas[row[F_BETA]];
    c.m = sizes[0].values[row[F_M]];
    c.n = sizes[1].values[row[F_N]];
    c.k = sizes[2].values[row[F_K]];
    for (int i = 0; i < 4; i++)
        c.pad[i] = pads[row[F_PAD_A + i]];
    memcpy(c.offset, offsets[row[F_OFFSET]], sizeof c.offset);
    c.c_mode = (lab_c_mode)row[F_C_MODE];
    c.batch_mode = (lab_batch_mode)row[F_BATCH];
    c.batch = batch_of(c.batch_mode);
    c.fill = fills[row[F_FILL]];
    c.memory = (lab_memory_mode)row[F_MEMORY];
    c.declare_align = row[F_ALIGN];
    c.null_unread = row[F_NULL];
    c.prepared = row[F_PREPARED];
    c.epilogue = row[F_EPILOGUE];
    c.threads = threads[row[F_THREADS]];
    c.twice = row[F_TWICE];
    c.seed = seed;
    return c;
}

/* Levels of all factors; sizes come from the kernel. */
static void set_levels(int levels[FACTORS], const size_levels sizes[3])
{
    levels[F_LAYOUT] = 4;
    levels[F_ALPHA] = COUNT(alphas) - 1;
    levels[F_BETA] = COUNT(betas);
    levels[F_M] = sizes[0].count;
    levels[F_N] = sizes[1].count;
    levels[F_K] = sizes[2].count;
    for (int f = F_PAD_A; f <= F_PAD_D; f++)
        levels[f] = COUNT(pads);
    levels[F_OFFSET] = COUNT(offsets);
    levels[F_C_MODE] = 3;
    levels[F_BATCH] = 6;
    levels[F_FILL] = 2; /* without NaN and infinities: they hide errors */
    levels[F_MEMORY] = 3;
    levels[F_ALIGN] = 2;
    levels[F_NULL] = 2;
    levels[F_PREPARED] = 4;
    levels[F_EPILOGUE] = TSR_EPILOGUE_COUNT;
    levels[F_THREADS] = COUNT(threads);
    levels[F_TWICE] = 2;
}

static tsr_status add_cover(const int *levels, const size_levels sizes[3], uint64_t seed, lab_case_list *out)
{
    lab_cover cover;
    tsr_status status = lab_pairwise(levels, FACTORS, seed, &cover);
    if (status != TSR_OK)
        return status;
    for (size_t r = 0; r < cover.count && status == TSR_OK; r++) {
        const lab_case c = case_of_row(cover.rows[r], sizes, seed);
        status = lab_cases_add(out, &c);
    }
    lab_cover_free(&cover);
    return status;
}

/* Everything that has a product to compare. */
static tsr_status add_main_cover(const lab_kernel *kernel, uint64_t seed, lab_case_list *out)
{
    const size_levels sizes[3] = {sizes_around(kernel->bm), sizes_around(kernel->bn), sizes_around(kernel->bk)};
    int levels[FACTORS];
    set_levels(levels, sizes);
    return add_cover(levels, sizes, seed, out);
}

/* What hides the product, each in a cover of its own, because in one they would hide each other. */
typedef enum hidden { ALPHA_IS_0, K_IS_0, D_IS_EMPTY, HIDDEN_KINDS } hidden;

static tsr_status add_hidden_cover(const lab_kernel *kernel, hidden kind, uint64_t seed, lab_case_list *out)
{
    const int tiles[3] = {kernel->bm, kernel->bn, kernel->bk};
    size_levels sizes[3];
    int levels[FACTORS];
    for (int i = 0; i < 3; i++) {
        const int64_t tile = tiles[i] > 0 ? tiles[i] : 16;
        sizes[i] = (size_levels){{tile + 1, 1}, 2};
        if (kind == D_IS_EMPTY)
            sizes[i] = (size_levels){{0, tile + 1, 1}, 3};
    }
    if (kind == K_IS_0)
        sizes[2] = (size_levels){{0}, 1};
    set_levels(levels, sizes);
    levels[F_FILL] = COUNT(fills);
    levels[F_ALPHA] = kind == ALPHA_IS_0 ? 1 : COUNT(alphas);
    const size_t first = out->count;
    const tsr_status status = add_cover(levels, sizes, seed + (uint64_t)kind, out);
    for (size_t i = first; i < out->count && kind == ALPHA_IS_0; i++)
        out->items[i].alpha = 0.0;
    return status;
}

/* A batch of no problems. */
static tsr_status add_empty_batch(uint64_t seed, lab_case_list *out)
{
    lab_case none;
    memset(&none, 0, sizeof none);
    none.m = none.n = none.k = 5;
    none.alpha = none.beta = 1.0;
    none.seed = seed;
    return lab_cases_add(out, &none);
}

static tsr_status add_covers(const lab_kernel *kernel, uint64_t seed, lab_case_list *out)
{
    tsr_status status = add_main_cover(kernel, seed, out);
    for (int kind = 0; kind < HIDDEN_KINDS && status == TSR_OK; kind++)
        status = add_hidden_cover(kernel, (hidden)kind, seed, out);
    return status;
}

/* NaN and infinities in every layout, at sizes that cover a few tiles. */
static tsr_status add_special(const lab_kernel *kernel, uint64_t seed, lab_case_list *out)
{
    tsr_status status = TSR_OK;
    for (int layout = 0; layout < 4 && status == TSR_OK; layout++) {
        lab_case c;
        memset(&c, 0, sizeof c);
        c.trans_a = layout & 1;
        c.trans_b = layout >> 1;
        c.m = kernel->bm > 0 ? kernel->bm + 3 : 37;
        c.n = kernel->bn > 0 ? kernel->bn + 5 : 41;
        c.k = kernel->bk > 0 ? 2 * kernel->bk + 1 : 35;
        c.batch = 1;
        c.alpha = 1.0;
        c.beta = layout == 3 ? 1.0 : 0.0;
        c.epilogue = layout % TSR_EPILOGUE_COUNT;
        c.fill = LAB_FILL_SPECIAL;
        c.seed = seed;
        status = lab_cases_add(out, &c);
    }
    return status;
}

/* Whole numbers at every K up to a few tiles, and at longer ones: this is what finds a dropped element. */
static tsr_status add_every_k(const lab_kernel *kernel, int small, uint64_t seed, lab_case_list *out)
{
    static const int64_t longer[] = {127, 128, 129, 191, 255, 256, 257, 383, 384, 385, 509, 1021, 2049, 4099};
    const int64_t dense = kernel->bk > 0 ? 2 * kernel->bk + 1 : 40;
    lab_random random = lab_random_make(seed, 7);
    lab_case c;
    memset(&c, 0, sizeof c);
    c.m = kernel->bm > 0 ? kernel->bm + 1 : 33;
    c.n = kernel->bn > 0 ? kernel->bn + 1 : 35;
    if (small) { /* part of one large tile does: K is walked alike in all, and the cover has the edges */
        c.m = c.m < 33 ? c.m : 33;
        c.n = c.n < 35 ? c.n : 35;
    }
    c.batch = 1;
    c.alpha = 1.0;
    c.fill = LAB_FILL_INTEGERS;
    c.seed = seed;
    tsr_status status = TSR_OK;
    for (c.k = 1; c.k <= dense && status == TSR_OK; c.k++) {
        c.trans_a = (int)lab_random_below(&random, 2);
        c.trans_b = (int)lab_random_below(&random, 2);
        status = lab_cases_add(out, &c);
    }
    for (int i = 0; i < COUNT(longer) && status == TSR_OK; i++) {
        c.k = longer[i];
        c.trans_a = (int)lab_random_below(&random, 2);
        c.trans_b = (int)lab_random_below(&random, 2);
        if (c.k > dense && (!small || c.k <= 257))
            status = lab_cases_add(out, &c);
    }
    return status;
}

/* Sizes that need several cache blocks, many CTAs, or are much longer one way than the others. */
static tsr_status add_large(int full, uint64_t seed, lab_case_list *out)
{
    static const int64_t quick_sizes[][3] = {
        {521, 263, 1031}, {1, 1, 5003}, {3, 5003, 2}, {2053, 3, 5}, {1031, 1, 777}, {300, 700, 300},
    };
    static const int64_t full_sizes[][3] = {
        {1024, 1024, 1024}, {1031, 1033, 1039}, {1, 8191, 129},  {8191, 1, 129},   {17, 19, 50021},
        {4097, 33, 65},     {33, 4097, 65},     {2049, 2047, 9}, {777, 1555, 333}, {4097, 4095, 1023},
    };
    lab_random random = lab_random_make(seed, 8);
    tsr_status status = TSR_OK;
    for (int i = 0; i < COUNT(quick_sizes) + (full ? COUNT(full_sizes) : 0) && status == TSR_OK; i++) {
        const int64_t *size = i < COUNT(quick_sizes) ? quick_sizes[i] : full_sizes[i - COUNT(quick_sizes)];
        lab_case c;
        memset(&c, 0, sizeof c);
        c.m = size[0];
        c.n = size[1];
        c.k = size[2];
        c.batch = 1;
        c.trans_a = (int)lab_random_below(&random, 2);
        c.trans_b = (int)lab_random_below(&random, 2);
        c.alpha = alphas[lab_random_below(&random, 3)];
        c.beta = betas[lab_random_below(&random, 4)];
        for (int o = 0; o < 4; o++)
            c.pad[o] = pads[lab_random_below(&random, 3)];
        c.fill = i % 3 == 2 ? LAB_FILL_INTEGERS : LAB_FILL_NORMAL;
        c.epilogue = (int)lab_random_below(&random, TSR_EPILOGUE_COUNT);
        c.seed = seed;
        status = lab_cases_add(out, &c);
    }
    return status;
}

/* Every layout with every alpha and every beta. */
static tsr_status add_all_factors(const lab_kernel *kernel, uint64_t seed, lab_case_list *out)
{
    tsr_status status = TSR_OK;
    for (int i = 0; i < 4 * COUNT(alphas) * COUNT(betas) && status == TSR_OK; i++) {
        lab_case c;
        memset(&c, 0, sizeof c);
        c.trans_a = i & 1;
        c.trans_b = i >> 1 & 1;
        c.alpha = alphas[i / 4 % COUNT(alphas)];
        c.beta = betas[i / 4 / COUNT(alphas)];
        c.m = kernel->bm > 0 ? 2 * kernel->bm + 1 : 65;
        c.n = kernel->bn > 0 ? kernel->bn + 1 : 33;
        c.k = kernel->bk > 0 ? 2 * kernel->bk + 1 : 47;
        c.batch = 1;
        c.c_mode = LAB_C_APART;
        c.fill = LAB_FILL_NORMAL;
        c.seed = seed;
        status = lab_cases_add(out, &c);
    }
    return status;
}

/* Types of the set; of a kernel without a config `only`. */
static int list_types(unsigned types, tsr_dtype only, tsr_dtype out[TSR_DTYPE_COUNT])
{
    int count = 0;
    out[0] = only;
    for (int dtype = TSR_DTYPE_NONE + 1; dtype < TSR_DTYPE_COUNT; dtype++)
        if (types >> dtype & 1)
            out[count++] = (tsr_dtype)dtype;
    return count > 0 ? count : 1;
}

/* What of C and D may lie at no multiple of 16 bytes. */
typedef enum askew { NOTHING, BASE_OF_C, BASE_OF_D, ROWS_OF_C, ROWS_OF_D, PROBLEMS, ASKEW_KINDS } askew;

/* A whole tile to each type of D, where all of C and D lies at multiples of 16 bytes but for one thing: kernels store
 * such a D by other instructions, and have to see each of these. */
static tsr_status add_askew(const lab_kernel *kernel, uint64_t seed, lab_case_list *out)
{
    enum { UNKNOWN_TILE = 64 };
    tsr_dtype d[TSR_DTYPE_COUNT];
    const int ds = list_types(kernel->config ? kernel->config->op.cd : 0, kernel->info.dtype_cd, d);
    tsr_status status = TSR_OK;
    for (int i = 0; i < 2 * ASKEW_KINDS * ds && status == TSR_OK; i++) {
        const askew kind = (askew)(i / 2 % ASKEW_KINDS);
        lab_case c;
        memset(&c, 0, sizeof c);
        c.dtype_d = d[i / 2 / ASKEW_KINDS];
        c.trans_b = i / 2 & 1;
        c.m = kernel->bm > 0 ? kernel->bm : UNKNOWN_TILE;
        c.n = kernel->bn > 0 ? kernel->bn : UNKNOWN_TILE;
        c.k = kernel->bk > 0 ? kernel->bk : UNKNOWN_TILE;
        c.alpha = 1.0;
        c.beta = i % 2;
        c.c_mode = LAB_C_APART;
        c.offset[2] = kind == BASE_OF_C;
        c.offset[3] = kind == BASE_OF_D;
        c.pad[2] = kind == ROWS_OF_C;
        c.pad[3] = kind == ROWS_OF_D;
        c.batch_mode = kind == PROBLEMS ? LAB_BATCH_GAPS : LAB_BATCH_ONE;
        c.batch = batch_of(c.batch_mode);
        c.seed = seed;
        status = lab_cases_add(out, &c);
    }
    return status;
}

tsr_status lab_cases_make(const lab_kernel *kernel, int full, int small, uint64_t seed, lab_case_list *out)
{
    const int covers = full ? 4 : 1;
    memset(out, 0, sizeof *out);
    tsr_status status = TSR_OK;
    for (int i = 0; i < covers && status == TSR_OK; i++)
        status = add_covers(kernel, seed + (uint64_t)i, out);
    if (status == TSR_OK)
        status = add_empty_batch(seed, out);
    if (status == TSR_OK)
        status = add_special(kernel, seed, out);
    if (status == TSR_OK)
        status = add_every_k(kernel, small, seed, out);
    if (status == TSR_OK)
        status = lab_cases_add_schedules(kernel, full, seed, out);
    if (status == TSR_OK && full)
        status = add_all_factors(kernel, seed, out);
    if (status == TSR_OK && !small)
        status = add_large(full, seed, out);
    if (status == TSR_OK) /* last: its types are not drawn, those of the others stay */
        status = add_askew(kernel, seed, out);
    if (status != TSR_OK)
        lab_cases_free(out);
    return status;
}

/* Scales as the types of the case and the sums of the kernel allow them. */
static void set_scales(const lab_kernel *kernel, lab_random *random, lab_case *c)
{
    const unsigned allowed =
        tsr_element_of(c->dtype_a)->scales & (kernel->config ? kernel->config->op.scales : TSR_VECTOR_SCALES);
    const int modes = allowed == TSR_BLOCK_SCALES    ? TSR_SCALE_MODE_COUNT
                      : allowed == TSR_VECTOR_SCALES ? TSR_SCALE_VECTOR + 1
                                                     : 0;
    if (modes && !tsr_dtype_is_integer(c->dtype_d)) {
        c->scale_a = (int)lab_random_below(random, (uint64_t)modes + 1);
        c->scale_b = (int)lab_random_below(random, (uint64_t)modes + 1);
    }
    if (tsr_dtype_is_integer(c->dtype_a) && (!kernel->config || kernel->config->op.operands & TSR_TAKES_WHOLE))
        c->zeros = (int)lab_random_below(random, 4);
    if (tsr_dtype_is_fp8(c->dtype_d)) {
        c->scale_d = (int)lab_random_below(random, 2);
        c->overflows = (int)lab_random_below(random, 2);
    }
}

void lab_cases_set_types(const lab_kernel *kernel, uint64_t seed, lab_case_list *list)
{
    const tsr_config *const config = kernel->config;
    lab_random random = lab_random_make(seed, 9), scales = lab_random_make(seed, 10);
    tsr_dtype a[TSR_DTYPE_COUNT], b[TSR_DTYPE_COUNT], d[TSR_DTYPE_COUNT];
    const int as = list_types(config ? config->op.a : 0, kernel->info.dtype_ab, a);
    const int bs = list_types(config ? config->op.b : 0, kernel->info.dtype_ab, b);
    const int ds = list_types(config ? config->op.cd : 0, kernel->info.dtype_cd, d);
    for (size_t i = 0; i < list->count; i++) {
        lab_case *const c = &list->items[i];
        c->dtype_a = a[as > 1 ? lab_random_below(&random, (uint64_t)as) : 0];
        c->dtype_b = b[bs > 1 ? lab_random_below(&random, (uint64_t)bs) : 0];
        if (c->dtype_d == TSR_DTYPE_NONE)
            c->dtype_d = d[ds > 1 ? lab_random_below(&random, (uint64_t)ds) : 0];
        set_scales(kernel, &scales, c);
        if (!tsr_dtype_is_integer(c->dtype_d))
            continue;
        c->alpha = floor(c->alpha); /* whole factors alone, and none that makes numbers larger */
        c->beta = ceil(c->beta);
        c->epilogue = 0; /* forms are of floats */
    }
}

static int is_same_size(const lab_case *one, const lab_case *other)
{
    return one->m == other->m && one->n == other->n && one->k == other->k && one->fill == other->fill;
}

void lab_cases_make_plain(lab_case_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const lab_case *const from = &list->items[i];
        lab_case plain = {.dtype_a = from->dtype_a,
                          .dtype_b = from->dtype_b,
                          .dtype_d = from->dtype_d,
                          .m = from->m,
                          .n = from->n,
                          .k = from->k,
                          .batch = 1,
                          .alpha = 1,
                          .c_mode = LAB_C_APART,
                          .fill = from->fill,
                          .seed = from->seed};
        size_t same = 0;
        while (same < kept && !is_same_size(&list->items[same], &plain))
            same++;
        if (same == kept)
            list->items[kept++] = plain;
    }
    list->count = kept;
}

void lab_cases_free(lab_case_list *list)
{
    free(list->items);
    memset(list, 0, sizeof *list);
}
