/* The bits of D that the CPU engine gives for 500 problems with each of its instruction sets: a change of structure
 * changes none of tests/golden/cpu_bits.txt. Instruction set, caches and threads are pinned, whatever processor runs
 * this; sets that it lacks are named as not run. Each problem goes through a plan, tsr_gemm, tsr_gemm with all checks
 * and, where there is one, the one-line call: all must give the same bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "core/dtype.h"
#include "golden.h"
#include "sanitized.h"

#define ABOUT                                                                                                        \
    "# Written by golden_cpu_bits --update: 64-bit FNV-1a hash of D's elements, row after row.\n"                    \
    "# Instruction set, dtype, layout, M N K xBATCH, ld: padding of A B C D in elements, alpha, beta, whether D is " \
    "C,\n"                                                                                                           \
    "# caches, threads : hash\n"

enum { CASES = 500, MOST_THREADS = 4, KEY_BYTES = 192, ANSWER_BYTES = 160 };

/* ---- what is pinned ---- */

#if defined(__x86_64__)
#define PLAIN 1 /* multiplications and additions are instructions of their own */
#else
#define PLAIN 0 /* compilers fuse them */
#endif

typedef struct instruction_set {
    const char *name;  /* in the file */
    const char *isa;   /* in the engine */
    int is_other;      /* of another architecture */
    int is_bf16_alone; /* other types are those of the set without pairs */
} instruction_set;

static const instruction_set sets[] = {
    {"plain", "plain", !PLAIN, 0},
    {"plain-fused", "plain", PLAIN, 0},
    {"avx2", "avx2", 0, 0},
    {"avx512", "avx512", 0, 0},
    {"avx512-zen4", "avx512-zen4", 0, 0},
    {"avx512+pairs", "avx512+pairs", 0, 1},
    {"avx512-zen4+pairs", "avx512-zen4+pairs", 0, 1},
    {"neon", "neon", 0, 0},
};

typedef struct caches {
    const char *name;
    long long l1_bytes, l2_bytes, l3_bytes;
} caches;

/* With the small ones, D of a few hundred kilobytes is written past the caches. */
static const caches all_caches[] = {{"usual", 32 << 10, 1 << 20, 32 << 20}, {"small", 32 << 10, 64 << 10, 256 << 10}};

enum { CACHES = sizeof all_caches / sizeof all_caches[0] };

/* ---- problems ---- */

typedef struct problem {
    tsr_dtype dtype;
    int trans_a, trans_b, in_place;
    long long m, n, k, batch;
    int pads[4]; /* elements between the rows of A, B, C and D */
    double alpha, beta;
    int cache, threads;
} problem;

typedef enum form {
    TINY,
    TILES,
    ONE_ROW,
    FEW_ROWS,
    FEW_STEPS,
    BLOCKS,
    LONG_SUM,
    MANY_ROWS,
    FORMS /* ONE_ROW and FEW_ROWS are columns as often */
} form;

static long long draw_between(uint64_t *seed, long long low, long long high)
{
    return low + golden_draw(seed, (uint32_t)(high - low + 1));
}

static void set_sizes(problem *p, long long m, long long n, long long k)
{
    p->m = m;
    p->n = n;
    p->k = k;
}

static void draw_sizes(uint64_t *seed, form f, problem *p)
{
    long long few, many;
    switch (f) {
    case TINY:
        set_sizes(p, draw_between(seed, 1, 24), draw_between(seed, 1, 24), draw_between(seed, 1, 24));
        return;
    case TILES:
        set_sizes(p, draw_between(seed, 2, 70), draw_between(seed, 2, 100), draw_between(seed, 1, 400));
        return;
    case ONE_ROW:
        set_sizes(p, 1, draw_between(seed, 1, 1500), draw_between(seed, 1, 900));
        break;
    case FEW_ROWS:
        few = draw_between(seed, 2, 12);
        many = draw_between(seed, 100, 1400);
        set_sizes(p, few, many, many < 700 ? draw_between(seed, 20, 1400) : draw_between(seed, 500, 900));
        break;
    case FEW_STEPS:
        set_sizes(p, draw_between(seed, 20, 500), draw_between(seed, 20, 500), draw_between(seed, 1, 12));
        return;
    case BLOCKS:
        set_sizes(p, draw_between(seed, 50, 220), draw_between(seed, 50, 220), draw_between(seed, 30, 220));
        return;
    case LONG_SUM:
        set_sizes(p, draw_between(seed, 1, 9), draw_between(seed, 1, 70), draw_between(seed, 400, 5000));
        return;
    default:
        set_sizes(p, draw_between(seed, 481, 700), draw_between(seed, 17, 90), draw_between(seed, 20, 300));
        break;
    }
    if (golden_draw(seed, 2))
        set_sizes(p, p->n, p->m, p->k);
}

static problem draw_problem(uint64_t *seed, int index)
{
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_BF16, TSR_F32, TSR_F16};
    static const double alphas[] = {1, 1, 1, -0.75}, betas[] = {0, 0, 1, 0.5};
    static const int threads[] = {1, 1, 2, MOST_THREADS};
    problem p = {.dtype = dtypes[index % 5], .trans_a = index >> 1 & 1, .trans_b = index & 1, .batch = 1};
    draw_sizes(seed, (form)(index / 4 % FORMS), &p);
    if (index % 11 == 0)
        p.batch = draw_between(seed, 2, 5);
    for (int i = 0; i < 4; i++)
        p.pads[i] = golden_draw(seed, 3) == 0 ? (int)golden_draw(seed, 20) : 0;
    p.alpha = alphas[golden_draw(seed, 4)];
    p.beta = betas[golden_draw(seed, 4)];
    p.in_place = golden_draw(seed, 2) == 1;
    if (p.in_place)
        p.pads[2] = p.pads[3];
    p.cache = golden_draw(seed, 3) == 0;
    p.threads = threads[golden_draw(seed, 4)];
    return p;
}

/* Blocks of all levels; only a few problems, which take most of the time. */
static void make_large(problem *p, int index)
{
    static const long long sizes[][3] = {{600, 600, 600}, {700, 500, 300}, {400, 1100, 260}, {37, 1500, 700}};
    set_sizes(p, sizes[index][0], sizes[index][1], sizes[index][2]);
    p->batch = 1;
}

static void key_of(const problem *p, const char *set, char *key)
{
    snprintf(key, KEY_BYTES, "%s %s %c%c %lldx%lldx%lld x%lld ld %d %d %d %d alpha %g beta %g %s %s threads %d", set,
             tsr_dtype_name(p->dtype), p->trans_a ? 't' : 'n', p->trans_b ? 't' : 'n', p->m, p->n, p->k, p->batch,
             p->pads[0], p->pads[1], p->pads[2], p->pads[3], p->alpha, p->beta, p->in_place ? "in-place" : "apart",
             all_caches[p->cache].name, p->threads);
}

static tsr_gemm_desc describe(const problem *p)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(p->dtype, p->m, p->n, p->k);
    tsr_operand *const operands[] = {&desc.a, &desc.b, &desc.c, &desc.d};
    desc.a.trans = p->trans_a ? TSR_T : TSR_N;
    desc.b.trans = p->trans_b ? TSR_T : TSR_N;
    for (int i = 0; i < 4; i++) {
        const long long rows = i == 0 ? (p->trans_a ? p->k : p->m) : i == 1 ? (p->trans_b ? p->n : p->k) : p->m;
        const long long columns = i == 0 ? (p->trans_a ? p->m : p->k) : i == 1 ? (p->trans_b ? p->k : p->n) : p->n;
        operands[i]->ld = columns + p->pads[i];
        operands[i]->batch_stride = p->batch == 1 ? 0 : rows * operands[i]->ld;
    }
    desc.batch_count = p->batch;
    return desc;
}

/* ---- operands ---- */

static void die(const char *key, const char *why)
{
    fprintf(stderr, "golden_cpu_bits: %s: %s (%s)\n", key, why, tsr_last_error());
    exit(2);
}

typedef struct buffers {
    void *a, *b, *c, *d;
    size_t d_bytes;
} buffers;

/* Elements of all problems; rows that are no multiple of anything, and values whose sums are rounded at each step. */
static void *make_operand(const char *key, uint64_t *seed, tsr_dtype dtype, long long elements)
{
    enum { ALIGN_BYTES = 64 };
    const size_t bytes = ((size_t)elements * tsr_dtype_bytes(dtype) + 2 * ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    void *const at = aligned_alloc(ALIGN_BYTES, bytes);
    if (!at)
        die(key, "no memory for an operand");
    memset(at, 0, bytes);
    for (long long i = 0; i < elements; i++)
        tsr_store_element(dtype, at, i, ((double)golden_draw(seed, 2001) - 1000) / 777);
    return at;
}

static long long elements_of(const problem *p, const tsr_operand *operand, int which)
{
    const long long rows = which == 0 ? (p->trans_a ? p->k : p->m) : which == 1 ? (p->trans_b ? p->n : p->k) : p->m;
    return rows * operand->ld * p->batch;
}

static buffers make_buffers(const char *key, const problem *p, const tsr_gemm_desc *desc)
{
    uint64_t seed = (uint64_t)p->m * 1000003 + (uint64_t)p->n * 1009 + (uint64_t)p->k;
    buffers x = {.a = make_operand(key, &seed, p->dtype, elements_of(p, &desc->a, 0)),
                 .b = make_operand(key, &seed, p->dtype, elements_of(p, &desc->b, 1)),
                 .c = make_operand(key, &seed, p->dtype, elements_of(p, &desc->c, 2)),
                 .d = make_operand(key, &seed, p->dtype, elements_of(p, &desc->d, 3)),
                 .d_bytes = (size_t)elements_of(p, &desc->d, 3) * tsr_dtype_bytes(p->dtype)};
    return x;
}

static void free_buffers(buffers *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
    free(x->d);
}

/* Of D's elements, not of what lies between its rows. */
static uint64_t hash_of(const problem *p, const tsr_gemm_desc *desc, const void *d)
{
    uint64_t hash = 14695981039346656037u;
    const size_t element = tsr_dtype_bytes(p->dtype), row_bytes = (size_t)p->n * element;
    for (long long row = 0; row < p->m * p->batch; row++) {
        const unsigned char *const at = (const unsigned char *)d + (size_t)(row * desc->d.ld) * element;
        for (size_t i = 0; i < row_bytes; i++)
            hash = (hash ^ at[i]) * 1099511628211u;
    }
    return hash;
}

/* ---- the ways into the engine ---- */

typedef tsr_status run_of(tsr_context *context, const problem *p, const tsr_gemm_desc *desc, const tsr_run_args *args);

/* Operands that are said to lie in device memory, which is the host's, pass by what is made for small products. */
static tsr_status with_checks(tsr_context *context, const problem *p, const tsr_gemm_desc *desc,
                              const tsr_run_args *args)
{
    tsr_gemm_desc elsewhere = *desc;
    (void)p;
    elsewhere.a.memory = elsewhere.b.memory = elsewhere.c.memory = elsewhere.d.memory = TSR_DEVICE;
    return tsr_gemm(context, &elsewhere, args);
}

static tsr_status by_descriptor(tsr_context *context, const problem *p, const tsr_gemm_desc *desc,
                                const tsr_run_args *args)
{
    (void)p;
    return tsr_gemm(context, desc, args);
}

static tsr_status by_plan(tsr_context *context, const problem *p, const tsr_gemm_desc *desc, const tsr_run_args *args)
{
    tsr_plan *plan = NULL;
    (void)p;
    tsr_status status = tsr_plan_create(context, desc, &plan);
    if (status == TSR_OK)
        status = tsr_plan_run(plan, args);
    tsr_plan_release(plan);
    return status;
}

static tsr_status by_one_line(tsr_context *context, const problem *p, const tsr_gemm_desc *desc,
                              const tsr_run_args *args)
{
    tsr_context *const before = tsr_default_context_exchange(context);
    const tsr_status status = p->dtype == TSR_F64
                                  ? tsr_dgemm(desc->a.trans, desc->b.trans, p->m, p->n, p->k, p->alpha, args->a,
                                              desc->a.ld, args->b, desc->b.ld, p->beta, args->d, desc->d.ld)
                                  : tsr_sgemm(desc->a.trans, desc->b.trans, p->m, p->n, p->k, (float)p->alpha, args->a,
                                              desc->a.ld, args->b, desc->b.ld, (float)p->beta, args->d, desc->d.ld);
    tsr_default_context_exchange(before);
    return status;
}

static const struct {
    const char *name;
    run_of *run;
    int one_line;
} ways[] = {
    {"checked", with_checks, 0}, {"gemm", by_descriptor, 0}, {"plan", by_plan, 0}, {"one-line", by_one_line, 1}};

enum { WAYS = sizeof ways / sizeof ways[0] };

static int has_one_line(const problem *p)
{
    return (p->dtype == TSR_F32 || p->dtype == TSR_F64) && p->batch == 1 && (p->in_place || p->beta == 0);
}

static uint64_t run(tsr_context *context, int way, const char *key, const problem *p, const tsr_gemm_desc *desc,
                    const buffers *x)
{
    tsr_run_args args = tsr_run_args_make(x->a, x->b, x->d);
    args.alpha.value = p->alpha;
    args.beta.value = p->beta;
    if (p->in_place)
        memcpy(x->d, x->c, x->d_bytes);
    else
        memset(x->d, 0xa5, x->d_bytes);
    args.c = p->in_place ? x->d : x->c;
    if (ways[way].run(context, p, desc, &args) != TSR_OK)
        die(key, "not computed");
    return hash_of(p, desc, x->d);
}

static void state(golden *file, tsr_context *context, const char *set, const problem *p)
{
    char key[KEY_BYTES], answer[ANSWER_BYTES];
    const tsr_gemm_desc desc = describe(p);
    key_of(p, set, key);
    buffers x = make_buffers(key, p, &desc);
    const uint64_t first = run(context, 0, key, p, &desc, &x);
    int length = snprintf(answer, sizeof answer, "%016llx", (unsigned long long)first);
    for (int way = 1; way < WAYS; way++) {
        const uint64_t hash = ways[way].one_line && !has_one_line(p) ? first : run(context, way, key, p, &desc, &x);
        if (hash != first)
            length += snprintf(answer + length, sizeof answer - (size_t)length, " %s %016llx", ways[way].name,
                               (unsigned long long)hash);
    }
    golden_case(file, key, answer, -1);
    free_buffers(&x);
}

/* ---- instruction sets ---- */

/* One context for each of the caches and number of threads. */
static tsr_context *contexts[CACHES][MOST_THREADS + 1];

static tsr_context *context_of(const char *isa, const problem *p)
{
    tsr_context **const context = &contexts[p->cache][p->threads];
    const caches *const c = &all_caches[p->cache];
    const tsr_cpu_profile profile = {
        .isa = isa, .l1_bytes = c->l1_bytes, .l2_bytes = c->l2_bytes, .l3_bytes = c->l3_bytes};
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = p->threads};
    if (!*context && tsr_context_open("cpu", &options, &profile, context) != TSR_OK)
        return NULL;
    return *context;
}

static void close_contexts(void)
{
    for (int i = 0; i < CACHES; i++)
        for (int threads = 0; threads <= MOST_THREADS; threads++) {
            tsr_context_destroy(contexts[i][threads]);
            contexts[i][threads] = NULL;
        }
}

/* The last cases are the large ones. */
static void state_set(golden *file, const instruction_set *set)
{
    enum { LARGE = 8 };
    uint64_t seed = 2026;
    for (int i = 0; i < CASES; i++) {
        problem p = draw_problem(&seed, i);
        if (i >= CASES - LARGE)
            make_large(&p, i % (LARGE / 2));
        if (!set->is_bf16_alone || p.dtype == TSR_BF16)
            state(file, context_of(set->isa, &p), set->name, &p);
    }
}

int main(int argc, char **argv)
{
    golden *const file = golden_open("cpu_bits", ABOUT, argc, argv);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        const problem probe = {.threads = 1};
        char prefix[32];
        snprintf(prefix, sizeof prefix, "%s ", sets[i].name);
        if (sets[i].is_other)
            golden_not_run(file, prefix, "of another architecture");
        else if (!context_of(sets[i].isa, &probe))
            golden_not_run(file, prefix, tsr_last_error());
        else if (is_left_out(i, 3))
            golden_not_run(file, prefix, "left out in a sanitizer's build");
        else if (golden_wants(file, prefix))
            state_set(file, &sets[i]);
        close_contexts();
    }
    return golden_close(file);
}
