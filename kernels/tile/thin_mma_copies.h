/* What `thin-mma` brings to its rings: whole chunks of 16 bytes of the large operand, wherever its lines begin, and the
 * rows of the small one. For thin_mma.cu, whose constants and `tile` these use. */
#ifndef TSR_TILE_THIN_MMA_COPIES_H
#define TSR_TILE_THIN_MMA_COPIES_H

/* Elements from the multiple of 16 bytes at or before it to the first one of line `line`, whatever the step is: steps
 * begin at multiples of 8 along K. */
TSR_DEVICE unsigned skew_of(const tile *t, int line)
{
    return ((unsigned)((unsigned long long)t->large / 2) + (unsigned)line * (unsigned)t->ld_large) % CHUNK;
}

/* What is wanted of chunk `chunk` of a line with that skew, of which `all` elements are: bytes from the chunk's begin
 * on, and those of them that come before the line. */
TSR_DEVICE unsigned wanted_bytes(int all, unsigned skew, int chunk)
{
    const int left = all + (int)skew - chunk * CHUNK;
    return left <= 0 ? 0 : left < CHUNK ? 2 * (unsigned)left : 16;
}

TSR_DEVICE unsigned skipped_bytes(unsigned skew, int chunk)
{
    return chunk == 0 ? 2 * skew : 0;
}

#if !ALONG_K
/* What a lane copies of each step: chunks that lie in shared memory as lanes count them. */
enum { COPIES = (LINES * CHUNKS + 31) / 32 };

typedef struct copies {
    const elem *small;        /* the lane's first chunk, at K = 0 */
    long long offset[COPIES]; /* of elements, from the step's first line on */
    unsigned bytes[COPIES], skip[COPIES];
} copies;

TSR_DEVICE copies copies_of(const tile *t, int lane)
{
    copies c;
    c.small = t->small + lane / (STEP / CHUNK) * t->ld_small + lane % (STEP / CHUNK) * CHUNK;
    TSR_UNROLL
    for (int i = 0; i < COPIES; i++) {
        const int at = 32 * i + lane, line = at / CHUNKS, chunk = at % CHUNKS;
        const unsigned skew = skew_of(t, line);
        c.offset[i] = line * t->ld_large + chunk * CHUNK - (int)skew;
        c.bytes[i] = line < LINES ? wanted_bytes(t->cols, skew, chunk) : 0;
        c.skip[i] = skipped_bytes(skew, chunk);
    }
    return c;
}

/* A row's chunk of the small operand, of which `left` elements are wanted. */
TSR_DEVICE void copy_small(unsigned char *to, int row, int chunk, const elem *from, long long left)
{
    const int place = chunk ^ row / 4 % 2; /* ldmatrix reads 8 rows without bank conflicts */
    tsr_copy_async_16(to + LARGE_BYTES + row * SMALL_PITCH + place * 16, from,
                      left <= 0      ? 0
                      : left < CHUNK ? 2 * (unsigned)left
                                     : 16);
}

/* Rows of the small operand that a step needs: ldmatrix reads 16 at once. */
TSR_DEVICE int copied_rows(const tile *t)
{
    return (t->eights + 1) / 2 * 16;
}

/* The step at `k` to a stage of the warp's ring. */
TSR_DEVICE void copy_whole(const tile *t, const copies *c, unsigned char *to, long long k, int lane)
{
    enum { ROWS = 32 / (STEP / CHUNK) }; /* of the small operand, by one copy of each lane */
    const int copied = copied_rows(t);
    const elem *const from = t->large + k * t->ld_large;
    TSR_UNROLL
    for (int i = 0; i < COPIES; i++)
        if (32 * (i + 1) <= LINES * CHUNKS || 32 * i + lane < LINES * CHUNKS)
            tsr_copy_async_16_behind(to + (32 * i + lane) * 16, from + c->offset[i], c->skip[i], c->bytes[i]);
    const elem *small = c->small + k;
    TSR_UNROLL
    for (int i = 0; i < SMALL / ROWS; i++, small += ROWS * t->ld_small) {
        const int row = i * ROWS + lane / (STEP / CHUNK);
        if (row < copied)
            copy_small(to, row, lane % (STEP / CHUNK), small, row < t->rows ? CHUNK : 0);
    }
}

/* The same where K ends within it, or before. */
TSR_DEVICE void copy_part(const tile *t, unsigned char *to, long long k, int lane)
{
    const int left = t->k - k < STEP ? (int)(t->k - k) : STEP, copied = copied_rows(t);
    TSR_ROLLED
    for (int at = lane; at < LINES * CHUNKS; at += 32) {
        const int line = at / CHUNKS, chunk = at % CHUNKS;
        const unsigned skew = skew_of(t, line);
        tsr_copy_async_16_behind(to + at * 16, t->large + (k + line) * t->ld_large - skew + chunk * CHUNK,
                                 skipped_bytes(skew, chunk), line < left ? wanted_bytes(t->cols, skew, chunk) : 0);
    }
    TSR_ROLLED
    for (int at = lane; at < copied * (STEP / CHUNK); at += 32) {
        const int row = at / (STEP / CHUNK), chunk = at % (STEP / CHUNK);
        copy_small(to, row, chunk, t->small + row * t->ld_small + k + chunk * CHUNK,
                   row < t->rows ? left - chunk * CHUNK : 0);
    }
}

#else
/* The panel at `k` to a stage: a warp copies every eighth row of both operands, a chunk each lane. */
TSR_DEVICE void copy_panel(const tile *t, unsigned char *to, long long k, int warp, int lane)
{
    const int all = t->k - k < PANEL ? (int)(t->k - k) : PANEL;
    const unsigned skew = skew_of(t, warp); /* WARPS lines further on it is the same */
    const unsigned bytes = wanted_bytes(all, skew, lane), skip = k == 0 ? skipped_bytes(skew, lane) : 0;
    const elem *from = t->large + warp * t->ld_large + k - (int)skew + lane * CHUNK;
    TSR_UNROLL
    for (int i = 0; i < LARGE / WARPS; i++, from += WARPS * t->ld_large) {
        const int row = i * WARPS + warp;
        tsr_copy_async_16_behind(to + row * PITCH + lane * 16, from, skip, row < t->cols ? bytes : 0);
    }
    if (warp * 32 < LARGE) { /* each row's last chunk */
        const int row = warp * 32 + lane;
        const unsigned own = skew_of(t, row);
        tsr_copy_async_16_behind(to + row * PITCH + LINE * 2, t->large + row * t->ld_large + k - (int)own + LINE, 0,
                                 row < t->cols ? wanted_bytes(all, own, LINE / CHUNK) : 0);
    }
    const elem *small = t->small + warp * t->ld_small + k + lane * CHUNK;
    TSR_UNROLL
    for (int i = 0; i < SMALL / WARPS; i++, small += WARPS * t->ld_small) {
        const int row = i * WARPS + warp;
        if (row < 8 * t->eights)
            tsr_copy_async_16(to + LARGE_BYTES + row * SMALL_PITCH + lane * 16, small,
                              row < t->rows ? wanted_bytes(all, 0, lane) : 0);
    }
}
#endif

#endif
