/* Blocks of the large operand of `thin` in registers, their products, and where a warp's sums meet: of an operand that
 * lies along K, and of one that lies across it. For thin.cu, whose constants and types these use. */
#ifndef TSR_TILE_THIN_BLOCK_H
#define TSR_TILE_THIN_BLOCK_H

#if ALONG_K

/* Column of a lane's quad j among the warp's 16, and its first step of K. */
TSR_DEVICE int lane_col(int lane, int j)
{
    return lane / 8 + j % 4 * 4;
}

TSR_DEVICE int lane_k(int lane, int j)
{
    return lane % 8 * 4 + j / 4 * 32;
}

/* DEPTH quads of the warp's columns of B, of whose BLOCK steps `inside` (less than 1: none) are wanted; zeros for the
 * others. `b` is the lane's first. The loads of a whole block start together. */
TSR_DEVICE void load_block(elem to[DEPTH][4], const elem *b, long long ldb, int lane, int cols, long long inside)
{
    if (inside >= BLOCK && lane_col(lane, 3) < cols) {
        TSR_UNROLL
        for (int j = 0; j < DEPTH; j++) {
            const elem *const from = b + j % 4 * 4 * ldb + j / 4 * 32;
#if ALIGNED
            const tsr_f32x4 quad = tsr_load_f32x4(from);
#endif
            TSR_UNROLL
            for (int l = 0; l < 4; l++)
#if ALIGNED
                to[j][l] = tsr_lane(quad, l);
#else
                to[j][l] = from[l];
#endif
        }
        return;
    }
    TSR_UNROLL
    for (int j = 0; j < DEPTH; j++) {
        TSR_UNROLL
        for (int l = 0; l < 4; l++)
            to[j][l] =
                lane_k(lane, j) + l < inside && lane_col(lane, j) < cols ? b[j % 4 * 4 * ldb + j / 4 * 32 + l] : 0;
    }
}

/* BLOCK steps of K, from quads of B in registers and the panel of A in shared memory. */
TSR_DEVICE void multiply(real sum[BM][4], const real *panel, const elem quad[DEPTH][4], int lane)
{
    TSR_UNROLL
    for (int j = 0; j < DEPTH; j += 4) {
        TSR_UNROLL
        for (int m = 0; m < BM; m++) {
            const quad_of_reals a = load_quad(panel + m * PITCH + lane_k(lane, j));
            TSR_UNROLL
            for (int i = 0; i < 4; i++) {
                TSR_UNROLL
                for (int l = 0; l < 4; l++)
                    sum[m][i] = tsr_fma(quad_lane(a, l), widen(quad[j + i][l]), sum[m][i]);
            }
        }
    }
}

/* The warp's sums to shared memory: of eight lanes, each of the first four stores one of the columns that they share.
 */
TSR_DEVICE void store_sums(real *shared, real sum[BM][4], int warp, int lane)
{
    TSR_UNROLL
    for (int m = 0; m < BM; m++) {
        TSR_UNROLL
        for (int j = 0; j < 4; j++) {
            real all = sum[m][j];
            TSR_UNROLL
            for (int step = 0; step < 3; step++)
                all += shuffle_xor(all, 1u << step);
            if (lane % 8 == j)
                shared[m * BN + 16 * warp + lane_col(lane, j)] = all;
        }
    }
}

/* Column of an element of the scratch's rows. */
TSR_DEVICE int scratch_col(int at)
{
    return at;
}

#else

/* Column of a lane's sum number j: quads where rows of B are aligned, else neighbours for neighbouring lanes. */
TSR_DEVICE int lane_col(int lane, int j)
{
    return ALIGNED ? 4 * lane + j : lane + 32 * j;
}

/* DEPTH rows of B, of which `inside` (less than 1: none) are wanted; zeros for the others. The loads of a whole block
 * start together. */
TSR_DEVICE void load_block(elem to[DEPTH][4], const elem *b, long long ldb, int lane, int cols, long long inside)
{
    if (inside >= DEPTH && lane_col(lane, 3) < cols) {
        TSR_UNROLL
        for (int k = 0; k < DEPTH; k++) {
            const elem *const row = b + k * ldb;
#if ALIGNED
            const tsr_f32x4 quad = tsr_load_f32x4(row + 4 * lane);
#endif
            TSR_UNROLL
            for (int j = 0; j < 4; j++)
#if ALIGNED
                to[k][j] = tsr_lane(quad, j);
#else
                to[k][j] = row[lane + 32 * j];
#endif
        }
        return;
    }
    TSR_UNROLL
    for (int k = 0; k < DEPTH; k++) {
        TSR_UNROLL
        for (int j = 0; j < 4; j++)
            to[k][j] = k < inside && lane_col(lane, j) < cols ? b[k * ldb + lane_col(lane, j)] : 0;
    }
}

/* DEPTH steps of K, from rows of B in registers and the panel of A in shared memory. */
TSR_DEVICE void multiply(real sum[BM][4], const real *panel, const elem row[DEPTH][4], int lane)
{
    (void)lane;
    TSR_UNROLL
    for (int k = 0; k < DEPTH; k += 4) {
        TSR_UNROLL
        for (int m = 0; m < BM; m++) {
            const quad_of_reals a = load_quad(panel + m * PITCH + k);
            TSR_UNROLL
            for (int l = 0; l < 4; l++) {
                TSR_UNROLL
                for (int j = 0; j < 4; j++)
                    sum[m][j] = tsr_fma(quad_lane(a, l), widen(row[k + l][j]), sum[m][j]);
            }
        }
    }
}

TSR_DEVICE void store_sums(real *shared, real sum[BM][4], int warp, int lane)
{
    TSR_UNROLL
    for (int m = 0; m < BM; m++) {
        store_quad(shared + warp * SUMS + m * BN + 4 * lane, sum[m]);
    }
}

/* Column of an element of the scratch's rows: a lane's four are together there. */
TSR_DEVICE int scratch_col(int at)
{
    return lane_col(at / 4, at % 4);
}

#endif

#endif
