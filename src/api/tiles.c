#include "api/tiles.h"

enum { PANELS = 8, LEAST_ROWS = 1024, GRAIN = 256 };

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
    const double ab = (double)tsr_dtype_bytes(p->a.dtype), cd = (double)tsr_dtype_bytes(p->d.dtype);
    const int b_changes = t->n < p->n || t->k < p->k;
    return 1.0625 * (ab * ((b_changes ? 2.0 : 1.0) * (double)t->k * (double)t->n + 2.0 * (double)t->m * (double)t->k) +
                     cd * 2.0 * (double)t->m * (double)t->n);
}

static long long half(long long size)
{
    const long long halved = round_up((size + 1) / 2, GRAIN);
    return halved < size ? halved : (size + 1) / 2;
}

int tsr_tiles_choose(const tsr_problem *p, double budget_bytes, tsr_tiles_of *out)
{
    /* At first A goes in a few row panels, so that the first is multiplied while the next are on their way. */
    tsr_tiles_of t = {.m = round_up((p->m + PANELS - 1) / PANELS, GRAIN), .n = p->n, .k = p->k > 0 ? p->k : 1};
    t.m = least(p->m, t.m < LEAST_ROWS ? LEAST_ROWS : t.m);
    while (need_bytes(p, &t) > budget_bytes) {
        if (t.n > 2 * t.m && t.n > GRAIN)
            t.n = half(t.n);
        else if (t.k > 4 * t.m && t.k > GRAIN)
            t.k = half(t.k);
        else if (t.m > 1 && t.m >= t.n)
            t.m = half(t.m);
        else if (t.n > 1)
            t.n = half(t.n);
        else if (t.k > 1)
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
