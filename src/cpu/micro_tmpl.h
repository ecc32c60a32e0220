/* The register tile for one element type and one instruction set; included once for each. The includer defines
 *   T               float or double
 *   NAME(x)         the names of this instance
 *   MR              rows of the largest tile, 6 or 12; 2 * MR accumulators and 3 more must fit the registers
 *   V, LANES        vector type and its elements
 *   M, M_FIRST(n)   mask type, and the mask of the first n lanes
 *   V_ZERO() V_SET1(x) V_LOAD(p) V_LOAD_MASK(m, p) V_STORE(p, v) V_STORE_MASK(p, m, v) V_STREAM(p, v)
 *   V_MUL(a, b) V_FMA(a, b, c), the latter a * b + c
 *   FETCH_TO_WRITE(p)   fetches a cache line that will be written
 *
 *               B: row p, two vectors
 *               [  b0   ][  b1   ]
 *    A:   a0 *  [acc 0,0][acc 0,1]      each step p: 2 loads of B, MR broadcasts of A,
 *         a1 *  [acc 1,0][acc 1,1]      2 * MR multiply-adds, all in registers
 *         ...
 */

/* D's lines are fetched when so many steps are left: early enough to arrive, late enough to still be there. */
#define LAST_STEPS  48
#define LEAST_STEPS 16 /* with fewer the fetches would cost more than they save */
#define NV          TSR_TILE_VECTORS
#define GROUPS      ((MR + 4) / 5)

/* A[i][p] for the current p: one base pointer for five rows, reached by the addressing modes (the stride times 1, 2 and
 * 4; a second stride register for 3), so that any stride costs no more than a packed panel. */
#define A_AT(i) (*(const T *)(base[(i) / 5] + ((i) % 5 == 3 ? row3 : row * ((i) % 5))))

/* clang-format off */
static inline __attribute__((always_inline)) const char *NAME(step)(V acc[MR][NV], const char *base[GROUPS],
    const char *b, const tsr_micro *t, const int64_t row, const int64_t row3, const M mask, const int mr, const int nv,
    const int masked)
/* clang-format on */
{
    V bv[NV];
#pragma GCC unroll 2
    for (int v = 0; v < nv; v++) {
        const T *at = (const T *)b + v * LANES;
        bv[v] = masked && v == nv - 1 ? V_LOAD_MASK(mask, at) : V_LOAD(at);
    }
#pragma GCC unroll 12
    for (int i = 0; i < mr; i++) {
        const V av = V_SET1(A_AT(i));
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++)
            acc[i][v] = V_FMA(av, bv[v], acc[i][v]);
    }
#pragma GCC unroll 3
    for (int g = 0; g < (mr + 4) / 5; g++)
        base[g] += t->a_k_bytes;
    return b + t->b_k_bytes;
}

static inline __attribute__((always_inline)) void NAME(write)(V acc[MR][NV], const tsr_micro *t, const M mask,
                                                              const int mr, const int nv, const int masked)
{
    const V alpha = V_SET1((T)t->alpha), beta = V_SET1((T)t->beta);
    const int has_c = t->beta != 0, stream = t->stream;
#pragma GCC unroll 12
    for (int i = 0; i < mr; i++) {
        const T *c = (const T *)((const char *)t->c + i * t->c_row_bytes);
        T *d = (T *)((char *)t->d + i * t->d_row_bytes);
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++) {
            V sum = V_MUL(alpha, acc[i][v]);
            if (masked && v == nv - 1) {
                if (has_c)
                    sum = V_FMA(beta, V_LOAD_MASK(mask, c + v * LANES), sum);
                V_STORE_MASK(d + v * LANES, mask, sum);
            } else {
                if (has_c)
                    sum = V_FMA(beta, V_LOAD(c + v * LANES), sum);
                if (stream)
                    V_STREAM(d + v * LANES, sum);
                else
                    V_STORE(d + v * LANES, sum);
            }
        }
    }
}

static inline __attribute__((always_inline)) void NAME(tile)(const tsr_micro *t, const int mr, const int nv,
                                                             const int masked)
{
    const M mask = M_FIRST(t->n - (nv - 1) * LANES);
    const int64_t row = t->a_row_bytes, row3 = 3 * row;
    const char *base[GROUPS];
    const char *b = t->b;
    V acc[MR][NV];

#pragma GCC unroll 12
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++)
            acc[i][v] = V_ZERO();
#pragma GCC unroll 3
    for (int g = 0; g < (mr + 4) / 5; g++)
        base[g] = (const char *)t->a + 5 * g * row;

    int64_t k = t->k;
    for (; k > LAST_STEPS; k--)
        b = NAME(step)(acc, base, b, t, row, row3, mask, mr, nv, masked);
    if (t->k > LEAST_STEPS) {
#pragma GCC unroll 12
        for (int i = 0; i < mr; i++)
#pragma GCC unroll 2
            for (int v = 0; v < nv; v++)
                FETCH_TO_WRITE((const char *)t->d + i * t->d_row_bytes + v * LANES * (int)sizeof(T));
    }
    for (; k >= 4; k -= 4)
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++)
            b = NAME(step)(acc, base, b, t, row, row3, mask, mr, nv, masked);
    for (; k > 0; k--)
        b = NAME(step)(acc, base, b, t, row, row3, mask, mr, nv, masked);
    NAME(write)(acc, t, mask, mr, nv, masked);
}

/* The functions of the table: constants for rows, vectors, and whether the last vector is partly used. */
#define ONE(mr, nv, masked)                                           \
    static void NAME(tile_##mr##_##nv##_##masked)(const tsr_micro *t) \
    {                                                                 \
        NAME(tile)(t, mr, nv, masked);                                \
    }
#define ONES(mr)  ONE(mr, 1, 0) ONE(mr, 1, 1) ONE(mr, 2, 0) ONE(mr, 2, 1)
#define NAMES(mr) NAME(tile_##mr##_1_0), NAME(tile_##mr##_1_1), NAME(tile_##mr##_2_0), NAME(tile_##mr##_2_1)

/* clang-format off */
ONES(1) ONES(2) ONES(3) ONES(4) ONES(5) ONES(6)
#if MR > 6
ONES(7) ONES(8) ONES(9) ONES(10) ONES(11) ONES(12)
#endif

static tsr_micro_run *const NAME(tiles)[] = {
    NAMES(1), NAMES(2), NAMES(3), NAMES(4), NAMES(5), NAMES(6),
#if MR > 6
    NAMES(7), NAMES(8), NAMES(9), NAMES(10), NAMES(11), NAMES(12),
#endif
};
/* clang-format on */

#undef ONE
#undef ONES
#undef NAMES
#undef A_AT
#undef NV
#undef LAST_STEPS
#undef LEAST_STEPS
#undef GROUPS
