/* Rows of a matrix added to a few rows of sums (tsr_update): a part of store_tmpl.h. */

#define UPDATE_ROWS    4 /* rows of sums that are added to at once, each so many vectors wide */
#define UPDATE_VECTORS (MR == 12 ? 2 : 1)
#define PREFETCH_LATE  (-1)
#define LATE_LINES     2  /* of later rows, that few_block then asks for before a row of sums, */
#define PREFETCH_AHEAD 12 /* so many rows ahead: as many as memory takes to answer, and as L1 keeps beside sums */

/* Up to 16 rows of sums: reading the matrix is the limit, or near it. One block of columns: `wide` vectors of each of
 * `steps` rows of the matrix are read into registers, each by a load of its own that follows one stream, which is what
 * prefetchers recognise; then each row of sums takes them. With one row of sums most processors have loads enough in
 * flight; with more, later rows are asked for meanwhile: those `prefetch` groups ahead into L2, with the loads, or,
 * PREFETCH_LATE, into L1 between the last rows of sums, when those before are used and what is pushed out of L1 is rows
 * of the matrix that are done with. Processors drop requests to L2 more often, depending on where the code happens to
 * lie.
 */
static inline __attribute__((always_inline)) void SNAME(few_block)(const tsr_update *u, const char *matrix, const T *x,
                                                                   T *sum, int64_t step, const int rows,
                                                                   const int steps, const int wide, const int prefetch,
                                                                   const int masked, const M some)
{
    enum { BYTES = LANES * (int)sizeof(S) };
    const int64_t step3 = 3 * step, sum_step = u->sum_step_bytes, ahead = prefetch * TSR_GROUP * step;
    const char *base[2] = {matrix, matrix + 5 * step}, *later = matrix + PREFETCH_AHEAD * step;
    int left = steps * wide; /* to ask for */
    V m[TSR_GROUP][4];
#pragma GCC unroll 8
    for (int p = 0; p < steps; p++) {
        const char *row = base[p / 5] + (p % 5 == 3 ? step3 : step * (p % 5));
#pragma GCC unroll 4
        for (int v = 0; v < wide; v++) {
            const S *at = (const S *)row + v * LANES;
            m[p][v] = masked ? S_LOAD_MASK(some, at) : S_LOAD(at);
            if (prefetch == PREFETCH_LATE)
                __asm__ volatile("" ::: "memory"); /* the loads stay in this order: upwards in each row */
            else if (prefetch > 0)
                __builtin_prefetch((const char *)at + ahead, 0, 2);
        }
    }
    for (int i = 0; i < rows; i++) {
        if (prefetch == PREFETCH_LATE && (rows - i) * LATE_LINES <= left) {
#pragma GCC unroll 4
            for (int v = 0; v < LATE_LINES; v++)
                __builtin_prefetch(later + v * BYTES);
            left -= LATE_LINES;
            later += left % wide ? LATE_LINES * BYTES : step - (wide - LATE_LINES) * BYTES;
        }
        V s[4];
#pragma GCC unroll 4
        for (int v = 0; v < wide; v++)
            s[v] = masked ? V_LOAD_MASK(some, sum) : V_LOAD(sum + v * LANES);
#pragma GCC unroll 8
        for (int p = 0; p < steps; p++) {
            const V xv = V_SET1(x[p]);
#pragma GCC unroll 4
            for (int v = 0; v < wide; v++)
                s[v] = V_FMA(xv, m[p][v], s[v]);
        }
#pragma GCC unroll 4
        for (int v = 0; v < wide; v++)
            if (masked)
                V_STORE_MASK(sum, some, s[v]);
            else
                V_STORE(sum + v * LANES, s[v]);
        x += TSR_GROUP;
        sum = (T *)((char *)sum + sum_step);
    }
}

/* One group of rows of the matrix. The copy of a single row of x tells the compiler that storing sums does not change
 * it, so that it stays in registers. */
static inline __attribute__((always_inline)) void SNAME(few_group)(const tsr_update *u, const char *matrix, const T *x,
                                                                   const int rows, const int steps, const int wide,
                                                                   const int prefetch)
{
    const int64_t step = u->step_bytes, count = u->count;
    const int prefetch_rest =
        prefetch == PREFETCH_LATE ? 1 : prefetch; /* of one vector, too little to be asked for between sums */
    T *const sum = u->sum;
    T x_row[TSR_GROUP];
    if (rows == 1) {
        memcpy(x_row, x, (size_t)steps * sizeof *x);
        x = x_row;
    }
    int64_t j = 0;
    for (; j + wide * LANES <= count; j += wide * LANES, matrix += wide * LANES * (int)sizeof(S))
        SNAME(few_block)(u, matrix, x, sum + j, step, rows, steps, wide, prefetch, 0, M_FIRST(LANES));
    for (; j < count; j += LANES, matrix += LANES * (int)sizeof(S))
        SNAME(few_block)
    (u, matrix, x, sum + j, step, rows, steps, 1, prefetch_rest, 1,
     M_FIRST((int)(count - j < LANES ? count - j : LANES)));
}

static inline __attribute__((always_inline)) void SNAME(few_rows)(const tsr_update *u, const int rows, const int steps,
                                                                  const int wide, const int prefetch)
{
    const char *matrix = u->matrix;
    const T *x = u->x;
    int p = 0;
    for (; p + TSR_GROUP <= u->k; p += TSR_GROUP, x += rows * TSR_GROUP)
        for (int q = 0; q < TSR_GROUP; q += steps, matrix += steps * u->step_bytes)
            SNAME(few_group)(u, matrix, x + q, rows, steps, wide, prefetch);
    for (int n = u->k - p, q = 0; n > 0;) {
        const int some = n >= 4 ? 4 : n >= 2 ? 2 : 1;
        if (some == 4)
            SNAME(few_group)(u, matrix, x + q, rows, 4, 1, 0);
        else if (some == 2)
            SNAME(few_group)(u, matrix, x + q, rows, 2, 1, 0);
        else
            SNAME(few_group)(u, matrix, x + q, rows, 1, 1, 0);
        n -= some;
        q += some;
        matrix += some * u->step_bytes;
    }
}

/* Adds `steps` rows of the matrix, of which `wide` vectors are in registers, to n rows of sums. */
static inline __attribute__((always_inline)) void SNAME(update_sums)(V (*m)[UPDATE_VECTORS], const T *x, char *sum,
                                                                     int64_t sum_step, const int n, const int steps,
                                                                     const int wide, const int masked, const M some)
{
    V s[UPDATE_ROWS][UPDATE_VECTORS];
    char *row = sum;
#pragma GCC unroll 4
    for (int i = 0; i < n; i++, row += sum_step)
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++)
            s[i][v] = masked ? V_LOAD_MASK(some, (const T *)row) : V_LOAD((const T *)row + v * LANES);
#pragma GCC unroll 8
    for (int p = 0; p < steps; p++)
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            const V xv = V_SET1(x[i * TSR_GROUP + p]);
#pragma GCC unroll 2
            for (int v = 0; v < wide; v++)
                V_ACCUMULATE(s[i][v], xv, m[p][v]);
        }
#pragma GCC unroll 4
    for (int i = 0; i < n; i++, sum += sum_step)
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++)
            if (masked)
                V_STORE_MASK((T *)sum, some, s[i][v]);
            else
                V_STORE((T *)sum + v * LANES, s[i][v]);
}

/* One block of columns: `wide` vectors of each of `steps` rows of the matrix are read into registers, each by a load of
 * its own that follows one stream, which is what prefetchers recognise; then the rows of sums take them, four at a
 * time: chains of additions enough to keep the multipliers busy. The same columns of the rows at `ahead` are asked for,
 * a few before each four rows of sums: processors drop such requests when too many come at once. With one row of sums
 * the processor has loads enough in flight. */
static inline __attribute__((always_inline)) void SNAME(update_block)(const tsr_update *u, const char *matrix,
                                                                      const char *ahead, const T *x, T *sum,
                                                                      const int rows, const int steps, const int wide,
                                                                      const int masked, const M some)
{
    const int64_t step = u->step_bytes, step3 = 3 * step, sum_step = u->sum_step_bytes;
    const char *base[2] = {matrix, matrix + 5 * step};
    V m[TSR_GROUP][UPDATE_VECTORS];
#pragma GCC unroll 8
    for (int p = 0; p < steps; p++) {
        const char *row = base[p / 5] + (p % 5 == 3 ? step3 : step * (p % 5));
#pragma GCC unroll 2
        for (int v = 0; v < wide; v++) {
            const S *at = (const S *)row + v * LANES;
            m[p][v] = masked ? S_LOAD_MASK(some, at) : S_LOAD(at);
            __asm__ volatile("" ::: "memory"); /* the loads stay in this order: upwards in each row */
        }
    }
    const int fours = (rows + UPDATE_ROWS - 1) / UPDATE_ROWS, share = (TSR_GROUP + fours - 1) / fours;
    char *at = (char *)sum;
    int fetched = steps == TSR_GROUP ? 0 : TSR_GROUP, left = rows;
    for (; left > 0; left -= UPDATE_ROWS, at += UPDATE_ROWS * sum_step, x += UPDATE_ROWS * TSR_GROUP) {
        for (const int until = fetched + share; fetched < until && fetched < TSR_GROUP; fetched++, ahead += step)
#pragma GCC unroll 2
            for (int v = 0; v < wide; v++)
                __builtin_prefetch((const S *)ahead + v * LANES);
        if (left >= UPDATE_ROWS)
            SNAME(update_sums)(m, x, at, sum_step, UPDATE_ROWS, steps, wide, masked, some);
        else if (left == 3)
            SNAME(update_sums)(m, x, at, sum_step, 3, steps, wide, masked, some);
        else if (left == 2)
            SNAME(update_sums)(m, x, at, sum_step, 2, steps, wide, masked, some);
        else
            SNAME(update_sums)(m, x, at, sum_step, 1, steps, wide, masked, some);
    }
}

/* One group of rows of the matrix. */
static inline __attribute__((always_inline)) void SNAME(update_group)(const tsr_update *u, const char *matrix,
                                                                      const char *ahead, const T *x, const int rows,
                                                                      const int steps, const int wide)
{
    enum { BYTES = LANES * (int)sizeof(S) };
    const int64_t count = u->count;
    T *const sum = u->sum;
    int64_t j = 0;
    for (; j + wide * LANES <= count; j += wide * LANES, matrix += wide * BYTES, ahead += wide * BYTES)
        SNAME(update_block)(u, matrix, ahead, x, sum + j, rows, steps, wide, 0, M_FIRST(LANES));
    for (; j < count; j += LANES, matrix += BYTES, ahead += BYTES)
        SNAME(update_block)
    (u, matrix, ahead, x, sum + j, rows, steps, 1, 1, M_FIRST((int)(count - j < LANES ? count - j : LANES)));
}

static inline __attribute__((always_inline)) void SNAME(update_rows)(const tsr_update *u, const int rows,
                                                                     const int wide)
{
    const char *matrix = u->matrix;
    const T *x = u->x;
    const int64_t group = TSR_GROUP * u->step_bytes;
    int p = 0;
    for (; p + TSR_GROUP <= u->k; p += TSR_GROUP, x += rows * TSR_GROUP, matrix += group)
        SNAME(update_group)(u, matrix, p + TSR_GROUP < u->k ? matrix + group : u->next, x, rows, TSR_GROUP, wide);
    for (; p < u->k; p++, matrix += u->step_bytes, x++)
        SNAME(update_group)(u, matrix, matrix, x, rows, 1, 1);
}

static void SNAME(update)(const tsr_update *u)
{
    const int zen4 = ZEN4 && sizeof(S) == sizeof(T) && u->zen4; /* stores of whole vectors take two cycles there */
    if (u->rows == 1 && ZEN4 && u->zen4)
        SNAME(few_rows)(u, 1, TSR_GROUP, 1, 1);
    else if (u->rows == 1)
        SNAME(few_rows)(u, 1, TSR_GROUP, 1, 0);
    else if (u->rows <= 8 && zen4)
        SNAME(few_rows)(u, u->rows, TSR_GROUP, 1, 4);
    else if (u->rows <= 8) /* limited by memory: narrow streams */
        SNAME(few_rows)(u, u->rows, TSR_GROUP, 1, 1);
    else if (u->rows <= TSR_FEWER_ROWS && zen4)
        SNAME(few_rows)(u, u->rows, TSR_GROUP, 2, PREFETCH_LATE);
    else if (u->rows > TSR_FEWER_ROWS)
        SNAME(update_rows)(u, u->rows, UPDATE_VECTORS);
    else if (MR == 12) /* limited by arithmetic: fewer loads of x, and short chains of additions */
        SNAME(few_rows)(u, u->rows, TSR_GROUP / 2, 4, PREFETCH_LATE);
    else
        SNAME(few_rows)(u, u->rows, TSR_GROUP, 2, 1);
}

#undef PREFETCH_AHEAD
#undef PREFETCH_LATE
#undef LATE_LINES
#undef UPDATE_ROWS
#undef UPDATE_VECTORS
