/* A few sums of many steps (tsr_chains) for one compute type and one instruction set; a part of dots_tmpl.h. */

/* One step of K. */
static inline __attribute__((always_inline)) void NAME(chains_step)(V *acc, const char *matrix, const char *x,
                                                                    int64_t x_row, const int rows, const int wide,
                                                                    const M some)
{
    V row[TSR_CHAINS_VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < wide; v++) {
        const T *at = (const T *)(const void *)matrix + v * LANES;
        row[v] = v == wide - 1 ? V_LOAD_MASK(some, at) : V_LOAD(at);
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
        const V xv = V_SET1(*(const T *)(const void *)(x + i * x_row));
#pragma GCC unroll 4
        for (int v = 0; v < wide; v++)
            acc[i * wide + v] = V_FMA(xv, row[v], acc[i * wide + v]);
    }
}

/* Adds the sums of some chains to those of as many others. Calls of this rather than a loop that halves the number of
 * chains: the compiler does not unroll that one, and then keeps sums in memory. */
static inline __attribute__((always_inline)) void
NAME(chains_add)(V (*to)[TSR_CHAINS_VECTORS], V (*from)[TSR_CHAINS_VECTORS], const int chains, const int sums)
{
#pragma GCC unroll 4
    for (int c = 0; c < chains; c++)
#pragma GCC unroll 4
        for (int i = 0; i < sums; i++)
            to[c][i] = V_ADD(to[c][i], from[c][i]);
}

/* `rows` of x, `wide` vectors of columns, of which the last is used as far as there are columns. */
static inline __attribute__((always_inline)) void NAME(chains_sums)(const tsr_chains *t, const int rows, const int wide)
{
    enum { MOST_CHAINS = 8 };
    const int chains = rows * wide == 1 ? MOST_CHAINS : rows * wide == 2 ? 4 : 2, sums = rows * wide;
    const M some = M_FIRST((int)t->count - (wide - 1) * LANES);
    const int64_t step = t->step_bytes, x_step = t->x_step_bytes, x_row = t->x_row_bytes;
    const char *matrix = t->matrix, *x = t->x;
    V sum[TSR_CHAINS_VECTORS];
#pragma GCC unroll 4
    for (int i = 0; i < sums; i++)
        sum[i] = V_ZERO();
    for (int64_t p = 0; p < t->k; p += TSR_CHAINS_STEPS) {
        V acc[MOST_CHAINS][TSR_CHAINS_VECTORS];
        int64_t left = t->k - p < TSR_CHAINS_STEPS ? t->k - p : TSR_CHAINS_STEPS;
#pragma GCC unroll 8
        for (int c = 0; c < chains; c++)
#pragma GCC unroll 4
            for (int i = 0; i < sums; i++)
                acc[c][i] = V_ZERO();
        for (; left >= chains; left -= chains)
#pragma GCC unroll 8
            for (int c = 0; c < chains; c++, matrix += step, x += x_step)
                NAME(chains_step)(acc[c], matrix, x, x_row, rows, wide, some);
        for (; left > 0; left--, matrix += step, x += x_step)
            NAME(chains_step)(acc[0], matrix, x, x_row, rows, wide, some);
        if (chains == MOST_CHAINS)
            NAME(chains_add)(acc, acc + MOST_CHAINS / 2, MOST_CHAINS / 2, sums);
        if (chains >= MOST_CHAINS / 2)
            NAME(chains_add)(acc, acc + MOST_CHAINS / 4, MOST_CHAINS / 4, sums);
        NAME(chains_add)(acc, acc + 1, 1, sums);
#pragma GCC unroll 4
        for (int i = 0; i < sums; i++)
            sum[i] = V_ADD(sum[i], acc[0][i]);
    }
    char *to = t->sum;
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++, to += t->sum_row_bytes)
#pragma GCC unroll 4
        for (int v = 0; v < wide; v++) {
            T *const at = (T *)(void *)to + v * LANES;
            if (v == wide - 1)
                V_STORE_MASK(at, some, sum[i * wide + v]);
            else
                V_STORE(at, sum[i * wide + v]);
        }
}

/* As many columns at a time as are TSR_CHAINS_VECTORS of sums: all where vectors have 64 bytes. */
static void NAME(chains)(const tsr_chains *t)
{
    tsr_chains part = *t;
    const int most = TSR_CHAINS_VECTORS / t->rows * LANES;
    for (int64_t j = 0; j < t->count; j += most) {
        part.count = t->count - j < most ? t->count - j : most;
        part.matrix = (const T *)t->matrix + j;
        part.sum = (T *)t->sum + j;
        switch (t->rows * 4 + (int)((part.count + LANES - 1) / LANES)) {
        case 4 + 1:
            NAME(chains_sums)(&part, 1, 1);
            break;
        case 4 + 2:
            NAME(chains_sums)(&part, 1, 2);
            break;
        case 4 + 3:
            NAME(chains_sums)(&part, 1, 3);
            break;
        case 4 + 4:
            NAME(chains_sums)(&part, 1, 4);
            break;
        case 8 + 1:
            NAME(chains_sums)(&part, 2, 1);
            break;
        case 8 + 2:
            NAME(chains_sums)(&part, 2, 2);
            break;
        case 12 + 1:
            NAME(chains_sums)(&part, 3, 1);
            break;
        default:
            NAME(chains_sums)(&part, 4, 1);
        }
    }
}
