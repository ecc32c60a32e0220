/* time_blas: what cblas_sgemm and cblas_dgemm of small products take in BLAS libraries, one thread, row-major.
 *     time_blas LIBRARY... < SIZES      lines of M N K; prints one line for each size, layout and type
 * All libraries in turn, in each of ROUNDS rounds, each for the time of TURN_NS; the least of the rounds, nanoseconds a
 * call. Matrices stay in the caches. A library that has its own threads is told to use one by its own variable. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST = 8,
    ROUNDS = 15,
    ROW_MAJOR = 101,
    NO_TRANS = 111,
    TRANS = 112,
    MOST_ELEMS = 1 << 20 /* of a matrix */
};
#define TURN_NS 1e5

typedef void sgemm_call(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                        const float *b, int ldb, float beta, float *c, int ldc);
typedef void dgemm_call(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a,
                        int lda, const double *b, int ldb, double beta, double *c, int ldc);

typedef struct library {
    const char *path;
    sgemm_call *sgemm;
    dgemm_call *dgemm;
} library;

typedef struct product {
    int m, n, k, trans_a, trans_b, is_double;
} product;

static _Alignas(64) double a[MOST_ELEMS], b[MOST_ELEMS], c[MOST_ELEMS];

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* Nanoseconds of a call, by `calls` of them. */
static double time_calls(const library *l, const product *p, long calls)
{
    const int trans_a = p->trans_a ? TRANS : NO_TRANS, trans_b = p->trans_b ? TRANS : NO_TRANS;
    const int lda = p->trans_a ? p->m : p->k, ldb = p->trans_b ? p->k : p->n;
    const double start = now_ns();
    for (long i = 0; i < calls; i++)
        if (p->is_double)
            l->dgemm(ROW_MAJOR, trans_a, trans_b, p->m, p->n, p->k, 1, a, lda, b, ldb, 0, c, p->n);
        else
            l->sgemm(ROW_MAJOR, trans_a, trans_b, p->m, p->n, p->k, 1, (const float *)a, lda, (const float *)b, ldb, 0,
                     (float *)c, p->n);
    return (now_ns() - start) / (double)calls;
}

static void print_times(const library *libraries, int count, const product *p)
{
    double best[MOST], expected[MOST];
    for (int i = 0; i < count; i++)
        expected[i] = best[i] = (time_calls(&libraries[i], p, 1), time_calls(&libraries[i], p, 10));
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < count; i++) {
            const long calls = 1 + (long)(TURN_NS / expected[i]);
            expected[i] = time_calls(&libraries[i], p, calls);
            best[i] = expected[i] < best[i] ? expected[i] : best[i];
        }
    printf("%d %d %d %c%c %s", p->m, p->n, p->k, "nt"[p->trans_a], "nt"[p->trans_b], p -> is_double ? "f64" : "f32");
    for (int i = 0; i < count; i++)
        printf(" %.1f", best[i]);
    putchar('\n');
    fflush(stdout);
}

static int open_library(const char *path, library *out)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *sgemm = handle ? dlsym(handle, "cblas_sgemm") : NULL, *dgemm = handle ? dlsym(handle, "cblas_dgemm") : NULL;
    if (!sgemm || !dgemm) {
        const char *const why = dlerror();
        fprintf(stderr, "time_blas: %s: %s\n", path, why ? why : "no cblas_sgemm, cblas_dgemm");
        return 0;
    }
    *out = (library){.path = path};
    *(void **)&out->sgemm = sgemm; /* ISO C has no such conversion */
    *(void **)&out->dgemm = dgemm;
    return 1;
}

int main(int argc, char **argv)
{
    library libraries[MOST];
    const int count = argc - 1;
    char line[200];
    if (count < 1 || count > MOST) {
        fprintf(stderr, "usage: time_blas LIBRARY... < SIZES   (1 to %d libraries; lines of M N K)\n", MOST);
        return 2;
    }
    for (int i = 0; i < count; i++)
        if (!open_library(argv[1 + i], &libraries[i]))
            return 1;
    for (long i = 0; i < MOST_ELEMS; i++)
        a[i] = b[i] = 1;
    printf("# M N K layout type");
    for (int i = 0; i < count; i++)
        printf(" %s", libraries[i].path);
    putchar('\n');
    while (fgets(line, sizeof line, stdin)) {
        product p = {0};
        char more;
        if (sscanf(line, "%d %d %d %c", &p.m, &p.n, &p.k, &more) != 3 || p.m < 1 || p.n < 1 || p.k < 1 ||
            (int64_t)p.m * p.k > MOST_ELEMS || (int64_t)p.k * p.n > MOST_ELEMS || (int64_t)p.m * p.n > MOST_ELEMS) {
            fprintf(stderr, "time_blas: \"%.*s\": must be M N K, with matrices of 1 to %d elements\n",
                    (int)strcspn(line, "\n"), line, MOST_ELEMS);
            return 2;
        }
        for (int kind = 0; kind < 8; kind++) {
            p.trans_a = kind >> 1 & 1;
            p.trans_b = kind & 1;
            p.is_double = kind >> 2;
            print_times(libraries, count, &p);
        }
    }
    return 0;
}
