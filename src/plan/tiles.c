#include "plan/tiles.h"

enum { PANELS = 8, LEAST_ROWS = 1024, GRAIN = 256 };

/* Below this, one copy of each operand is as fast as tiles are. */
#define LEAST_BYTES  (8 << 20)
#define BUDGET_SHARE 0.6
/* Measured on an H200, perf/LOG: one copy of each operand from pageable memory, and what goes with it; what setting
 * up and ending a run by tiles takes. */
#define PAGEABLE_BYTES_PER_S 10e9
#define COPIES_NS            90e3
#define TILES_NS             800e3

long long tsr_tile_pitch(long long row_bytes)
{
    return row_bytes < 256 ? row_bytes : (row_bytes + 15) / 16 * 16;
}

static long long round_up(long long value, long long grain)
{
    return (value + grain - 1) / grain * grain;
}

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

/* Doubles: sizes may be far beyond any memory. The pitch adds at most a sixteenth. */
static double need_bytes(const tsr_problem *p, const tsr_tiles_of *t)
{
    const double ab = (double)tsr_dtype_bytes(p->op.a), cd = (double)tsr_dtype_bytes(p->op.d);
    const int b_changes = t->n < p->n || t->k < p->k;
    return 1.0625 * (ab * ((b_changes ? 2.0 : 1.0) * (double)t->k * (double)t->n + 2.0 * (double)t->m * (double)t->k) +
                     cd * 2.0 * (double)t->m * (double)t->n);
}

static long long half(long long size)
{
    const long long halved = round_up((size + 1) / 2, GRAIN);
    return halved < size ? halved : (size + 1) / 2;
}

/* 1 if D can hold what parts of K sum to, without being rounded in between. */
static int keeps_sums(const tsr_problem *p)
{
    const tsr_dtype sums = p->op.compute == TSR_COMPUTE_F64   ? TSR_F64
                           : p->op.compute == TSR_COMPUTE_S32 ? TSR_S32
                                                              : TSR_F32;
    return p->op.c == sums && p->op.d == sums && !(p->flags & TSR_BATCH_INVARIANT);
}

int tsr_tiles_choose(const tsr_problem *p, double budget_bytes, tsr_tiles_of *out)
{
    const int may_cut_k = keeps_sums(p);
    /* At first A goes in a few row panels, so that the first is multiplied while the next are on their way. */
    tsr_tiles_of t = {.m = round_up((p->m + PANELS - 1) / PANELS, GRAIN), .n = p->n, .k = p->k > 0 ? p->k : 1};
    t.m = least(p->m, t.m < LEAST_ROWS ? LEAST_ROWS : t.m);
    while (need_bytes(p, &t) > budget_bytes) {
        if (t.n > 2 * t.m && t.n > GRAIN)
            t.n = half(t.n);
        else if (may_cut_k && t.k > 4 * t.m && t.k > GRAIN)
            t.k = half(t.k);
        else if (t.m > 1 && t.m >= t.n)
            t.m = half(t.m);
        else if (t.n > 1)
            t.n = half(t.n);
        else if (may_cut_k && t.k > 1)
            t.k = half(t.k);
        else
            return 0;
    }
    t.down = (p->m + t.m - 1) / t.m;
    t.across = (p->n + t.n - 1) / t.n;
    t.deep = p->k > 0 ? (p->k + t.k - 1) / t.k : 1;
    *out = t;
    return 1;
}

double tsr_tiles_budget(const tsr_device *device)
{
    return BUDGET_SHARE * (double)device->cuda.memory_bytes;
}

/* Of one operand if it is copied, else 0. */
static double copied_bytes(const tsr_problem *p, const tsr_device *device, char which)
{
    const tsr_matrix *operand = tsr_problem_operand(p, which);
    long long rows, columns;
    if (!tsr_operand_staged(p, device, which))
        return 0;
    tsr_stored_shape(p, which, &rows, &columns);
    return (double)rows * (double)columns * (double)(operand->batch_stride ? p->batch : 1) *
           (double)tsr_problem_element(p, which);
}

int tsr_tiles_wanted(const tsr_problem *p, const tsr_device *device)
{
    double bytes = 0;
    if (p->flags & TSR_BATCH_INVARIANT) /* tiles cut K */
        return 0;
    for (const char *which = "abcd"; *which; which++) {
        if (!tsr_operand_staged(p, device, *which))
            return 0;
        bytes += *which == 'c' ? 0 : copied_bytes(p, device, *which);
    }
    return bytes >= (p->batch == 1 ? (double)LEAST_BYTES : (double)device->cuda.memory_bytes / 2);
}

double tsr_transfer_ns(const tsr_problem *p, const tsr_device *device, double compute_ns)
{
    const double a = copied_bytes(p, device, 'a'), b = copied_bytes(p, device, 'b'), d = copied_bytes(p, device, 'd');
    tsr_tiles_of t;
    if (a + b + d == 0)
        return 0;
    if (!tsr_tiles_wanted(p, device) || !tsr_tiles_choose(p, tsr_tiles_budget(device), &t))
        return COPIES_NS + (a + b + d) / PAGEABLE_BYTES_PER_S * 1e9;
    const double ns_per_byte = 1e9 / device->transfer_bytes_per_s;
    const double a_all = a * (double)t.across, b_all = b * (t.deep > 1 ? (double)t.down : 1);
    const double first = a / (double)(t.down * t.deep) + b / (double)(t.across * t.deep);
    const double last = d / (double)(t.down * t.across);
    const double in_ns = (a_all + b_all - first) * ns_per_byte, out_ns = (d - last) * ns_per_byte;
    double hidden_ns = compute_ns;
    hidden_ns = in_ns > hidden_ns ? in_ns : hidden_ns;
    hidden_ns = out_ns > hidden_ns ? out_ns : hidden_ns;
    return TILES_NS + (first + last) * ns_per_byte + hidden_ns - compute_ns;
}
