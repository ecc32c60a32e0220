/* cpu-tiled for small problems: register tiles straight on the caller's matrices. No memory is asked for, no lock
 * taken, nothing divided; B is copied to the stack, a panel at a time, where it is transposed or read often. */
#include "cpu/job.h"

enum {
    MAX_ROWS = 480,
    MAX_COLUMNS = 512,
    MAX_OPS = 24 << 20,        /* what one thread does in about 100 us */
    UNPACKED_ROWS = 48,        /* with so many rows a B whose lines push each other out of the cache is copied */
    CONFLICT_BYTES = 2048,     /* namely one whose rows lie a multiple of this apart */
    PANEL_BYTES = 256 * 32 * 4 /* of the largest panel: kc * nr * bytes of an element */
};

int tsr_direct_fits(const tsr_job *job)
{
    const tsr_gemm_args *g = job->args;
    if (job->packed_a || job->packed_b || job->element_bytes != job->wide_bytes)
        return 0;
    if (g->m > MAX_ROWS || g->n > MAX_COLUMNS || g->k > job->tiles->kc)
        return 0;
    return job->threads == 1 || 2.0 * (double)(g->m * g->n * g->k) * (double)g->batch <= MAX_OPS;
}

/* All rows of one panel of columns: tiles of mr rows, the last two of nearly equal height. */
static void rows(const tsr_tiles *tiles, tsr_micro *tile, long long left)
{
    while (left > 0) {
        const int mr = tiles->mr, take = (int)(left >= 2 * mr ? mr : left > mr ? (left + 1) / 2 : left);
        tsr_tile_of(tiles, take, tile->n)(tile);
        tile->a = (const char *)tile->a + take * tile->a_row_bytes;
        tile->d = (char *)tile->d + take * tile->d_row_bytes;
        if (tile->c)
            tile->c = (const char *)tile->c + take * tile->c_row_bytes;
        left -= take;
    }
}

static void multiply(const tsr_job *job, long long z)
{
    const tsr_gemm_args *g = job->args;
    const tsr_tiles *tiles = job->tiles;
    const long long bytes = job->element_bytes, ldb_bytes = g->ldb * bytes;
    const int copied = g->trans_b || (g->m > UNPACKED_ROWS && ldb_bytes % CONFLICT_BYTES == 0);
    const char *a = (const char *)g->a + z * g->batch_a * bytes, *b = (const char *)g->b + z * g->batch_b * bytes;
    const char *c = g->beta != 0 ? (const char *)g->c + z * g->batch_c * bytes : NULL;
    char *d = (char *)g->d + z * g->batch_d * bytes;
    _Alignas(64) char panel[PANEL_BYTES];
    tsr_micro tile = {
        .k = g->k,
        .a_row_bytes = g->trans_a ? bytes : g->lda * bytes,
        .a_k_bytes = g->trans_a ? g->lda * bytes : bytes,
        .b_k_bytes = ldb_bytes,
        .c_row_bytes = g->ldc * bytes,
        .d_row_bytes = g->ldd * bytes,
        .alpha = g->alpha,
        .beta = g->beta,
    };
    for (long long j = 0; j < g->n; j += tiles->nr) {
        const long long left = g->n - j, across = j * bytes;
        tile.n = left < tiles->nr ? (int)left : tiles->nr;
        tile.a = a;
        tile.b = copied ? panel : b + across;
        tile.c = c ? c + across : NULL;
        tile.d = d + across;
        const int width = tile.n > tiles->lanes ? tiles->nr : tiles->lanes;
        if (copied)
            tile.b_k_bytes = width * bytes;
        if (g->trans_b)
            job->store->pack_columns(panel, width, tile.n, g->k, b + j * ldb_bytes, ldb_bytes);
        else if (copied)
            job->store->pack_rows(panel, width, tile.n, g->k, b + across, ldb_bytes);
        rows(tiles, &tile, g->m);
    }
}

void tsr_direct(const tsr_job *job)
{
    for (long long z = 0; z < job->args->batch; z++)
        multiply(job, z);
}
