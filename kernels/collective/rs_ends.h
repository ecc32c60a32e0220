/* Ends of wgmma_rs's tiles: sums go through shared memory, so that a warp stores whole lines of 128 bytes. For
 * wgmma_rs.cu, whose constants, `walk` and lines_of_lane these use. */
#ifndef TSR_COLLECTIVE_RS_ENDS_H
#define TSR_COLLECTIVE_RS_ENDS_H

/* The quads of D that a thread takes out of a piece: quad i of the piece that begins at `first` of the other operand's
 * rows lies quad_row(i) + first rows on where D^T is computed, else quad_row(i) rows and `first` columns. */
typedef struct quads {
    long long row, column; /* of D */
    int swap_ab;
    unsigned leave, take, next; /* where the thread writes, where it reads, bytes from quad to quad */
} quads;

TSR_DEVICE quads quads_of(const walk *w, unsigned piece, int line, int other)
{
    const int thread = (int)threadIdx.x % 128, warp = thread / 32, lane = thread % 32, t = lane % 4, q = lane / 4;
    quads out = {.swap_ab = w->swap_ab};
    if (w->swap_ab) { /* rows of PIECE_LINES lines; the swizzle of 16 bytes keeps pairs of lanes out of one bank */
        const int row = thread / 16, chunk = thread % 16;
        out.leave = piece + (unsigned)(2 * t * ACROSS_PITCH + (lines_of_lane() ^ (2 * t & 4))) * 4;
        out.take = piece + (unsigned)(row * ACROSS_PITCH + ((chunk * 4) ^ (row & 4))) * 4;
        out.next = 8 * ACROSS_PITCH * 4;
        out.row = other + row;
        out.column = line + chunk * 4;
    } else { /* the warp's own 16 lines, as its fragment has them, by PIECE of the other operand's rows */
        const int eighth = lane / 8;
        out.leave = piece + (unsigned)((warp * 16 + q) * PITCH + 2 * t) * 4;
        out.take = piece + (unsigned)((warp * 16 + eighth) * PITCH + lane % 8 * 4) * 4;
        out.next = 4 * PITCH * 4;
        out.row = line + warp / 2 * 32 + eighth / 2 * 16 + warp % 2 * 8 + eighth % 2 * 2;
        out.column = other + lane % 8 * 4;
    }
    return out;
}

/* Rows of D from the first quad of a piece to quad i: of the fragment's rows 4 i and following these are the lines. */
TSR_DEVICE int quad_row(const quads *q, int i)
{
    return q->swap_ab ? 8 * i : i % 2 * 4 + i / 2;
}

/* PIECE of the other operand's rows to shared memory. */
TSR_DEVICE void leave_piece(const quads *q, int group, int first, const float sum[TSR_WGMMA_REGISTERS])
{
    if (q->swap_ab) {
        tsr_named_barrier(PIECES + (unsigned)group, 128); /* the piece before has left */
        TSR_UNROLL
        for (int j = 0; j < PIECE / 8; j++)
            TSR_UNROLL
        for (int e = 0; e < 2; e++) {
            const float *const own = &sum[first / 2 + 4 * j + e];
            tsr_shared_store_f32x2(q->leave + (unsigned)((8 * j + e) * ACROSS_PITCH) * 4, own[0], own[2]);
        }
        tsr_named_barrier(PIECES + (unsigned)group, 128);
    } else {
        tsr_warp_sync(TSR_ALL_LANES); /* the piece before has left */
        TSR_UNROLL
        for (int j = 0; j < PIECE / 8; j++)
            TSR_UNROLL
        for (int h = 0; h < 2; h++) {
            const float *const own = &sum[first / 2 + 4 * j + 2 * h];
            tsr_shared_store_f32x2(q->leave + (unsigned)(8 * h * PITCH + 8 * j) * 4, own[0], own[1]);
        }
        tsr_warp_sync(TSR_ALL_LANES);
    }
}

/* The same for `first` that is no constant: what is behind a piece is there once, not once for each. */
TSR_DEVICE void leave_some_piece(const quads *q, int group, int first, const float sum[TSR_WGMMA_REGISTERS])
{
    TSR_UNROLL
    for (int at = 0; at < BN; at += PIECE)
        if (at == first)
            leave_piece(q, group, at, sum);
}

/* PIECE of the other operand's rows to shared memory, and the thread's quads of D from there. */
TSR_DEVICE void exchange(const quads *q, int group, int first, const float sum[TSR_WGMMA_REGISTERS],
                         float four[QUADS][4])
{
    leave_piece(q, group, first, sum);
    TSR_UNROLL
    for (unsigned i = 0; i < QUADS; i++)
        tsr_shared_load_f32x4(q->take + i * q->next, four[i]);
}

/* The group's part of a tile of D where D cannot take four neighbours by one store: a lane has eight rows of a column
 * (tile/any_column.h), twice a piece. Where D^T is computed a warp has every fourth row of a piece, and two times 32 of
 * its columns; else 32 columns of its own 16 lines, which are two times eight neighbouring ones. */
TSR_DEVICE void output_elements(const any_scaled *e, const quads *q, unsigned piece, int group, int line, int other,
                                const float sum[TSR_WGMMA_REGISTERS])
{
    enum { ROWS = 8 };
    const int warp = (int)threadIdx.x / 32 % 4, lane = (int)threadIdx.x % 32, step = q->swap_ab ? 4 : 1;
    unsigned amax = 0;
    TSR_ROLLED
    for (int first = 0; first < BN; first += PIECE) {
        if (other + first >= (q->swap_ab ? e->out.m : e->out.n))
            break;
        leave_some_piece(q, group, first, sum);
        TSR_ROLLED
        for (int half = 0; half < 2; half++) {
            const any_column column = any_column_of(e, q->swap_ab ? line + 32 * half + lane : other + first + lane);
            const int row = q->swap_ab ? other + first + warp : line + warp / 2 * 32 + half * 16 + warp % 2 * 8;
            int offset[ROWS];
            float bits[ROWS];
            TSR_UNROLL
            for (int i = 0; i < ROWS; i++) {
                /* The row of the piece that is a row of D: its columns are swizzled; or the fragment's of this line. */
                const int across = (warp + 4 * i) * ACROSS_PITCH + 32 * half + (lane ^ 4 * (i % 2));
                const int along = (warp * 16 + i % 2 * 8 + i / 4 * 4 + half * 2 + i / 2 % 2) * PITCH + lane;
                offset[i] = i * step;
                bits[i] = tsr_shared_load_f32(piece + (unsigned)(q->swap_ab ? across : along) * 4);
            }
            any_output_column(e, &column, row, offset, ROWS, bits, &amax);
        }
    }
}

/* The group's part of a tile where C and D take four neighbours by one access. */
TSR_DEVICE void output_quads(const any_out *out, const quads *q, int group, const float sum[TSR_WGMMA_REGISTERS])
{
    TSR_UNROLL
    for (int first = 0; first < BN; first += PIECE) {
        float four[QUADS][4], old[QUADS][4] = {{0}}, bias[4] = {0, 0, 0, 0};
        exchange(q, group, first, sum, four);
        const long long row = q->row + (q->swap_ab ? first : 0), column = q->column + (q->swap_ab ? 0 : first);
        float *const d = (float *)(void *)out->d + row * out->ldd + column;
        const float *const c = (const float *)(const void *)out->c + row * out->ldc + column;
        if (column >= out->n)
            continue;
        if (out->form.form != TSR_EPILOGUE_NONE)
            any_bias_quad(out, TSR_TYPE_F32, column, bias);
        if (out->form.reads_c)
            TSR_UNROLL
        for (int i = 0; i < QUADS; i++)
            if (row + quad_row(q, i) < out->m)
                any_load_quad(TSR_TYPE_F32, (const unsigned char *)(const void *)(c + quad_row(q, i) * out->ldc),
                              old[i]);
        TSR_UNROLL
        for (int i = 0; i < QUADS; i++)
            if (row + quad_row(q, i) < out->m)
                any_store_quad(out, TSR_TYPE_F32, (unsigned char *)(void *)(d + quad_row(q, i) * out->ldd), old[i],
                               bias, four[i]);
    }
}

#endif
