/* What runs of a plan for a small product share: its tiles, or its few steps of K (tile.h). */
#include "cpu/small/tile.h"

#include <string.h>

#include "cpu/small/in_place.h"

void tsr_cpu_tile_make(const tsr_isa *isa, tsr_dtype dtype, const tsr_gemm_args *args, tsr_cpu_tile *out)
{
    const tsr_tiles *tiles = tsr_isa_tiles(isa, dtype);
    const int bytes = tsr_wide_bytes(dtype);
    memset(out, 0, sizeof *out);
    const int one_row = args->m == 1;
    const int transposed = args->trans_b && tsr_is_transposed(tiles, args);
    if (args->trans_b && !transposed)
        return;
    const tsr_traversal traversal = tsr_few_steps_traversal(tiles, args, bytes, transposed);
    tiles = transposed ? tiles->transposed : tiles;
    const long long m = transposed ? args->n : args->m, n = transposed ? args->m : args->n;
    if (m > TSR_UNPACKED_ROWS || args->k > tiles->kc || (!transposed && tsr_tail_columns(tiles, args)) ||
        (one_row && !tsr_is_tiled_row(tiles, n, args->k)))
        return;
    out->micro = tsr_first_tile(args, bytes, transposed, NULL, NULL, NULL, NULL);
    out->transposed = transposed;
    out->d_next = transposed ? bytes : out->micro.d_row_bytes;
    out->c_next = transposed ? bytes : out->micro.c_row_bytes;
    if (n <= 3 * tiles->lanes && tsr_panel_columns(tiles, m, args->k, n) == n && traversal != TSR_DOWN_COLUMNS) {
        out->micro.n = (int)n;
        out->cut = tsr_cut_rows(tiles, (int)n, args->k, m);
        if (out->cut.count == 1)
            out->micro.fetch = 0;
        return;
    }
    if (n > TSR_SURE_COLUMNS || tsr_may_share(args, bytes))
        return;
    if (traversal != TSR_BY_TILES && transposed)
        return;
    if (traversal != TSR_BY_TILES) {
        out->rank_k = tsr_rank_k_of(args, traversal, bytes, NULL, NULL, NULL);
        out->run_rank_k = isa->store[dtype].rank_k;
    }
    out->b_across = bytes;
    out->d_across = transposed ? out->micro.d_row_bytes : bytes;
    out->c_across = transposed ? out->micro.c_row_bytes : bytes;
    tsr_panels *panels = out->panels;
    for (long long j = 0; j < n; j += panels->columns) {
        const int columns = tsr_panel_columns(tiles, m, args->k, n - j);
        if (panels->count && panels->columns != columns)
            panels++;
        if (!panels->count++)
            panels->cut = tsr_cut_rows(tiles, columns, args->k, m);
        panels->columns = columns;
    }
}

int tsr_cpu_panels_run(const tsr_cpu_tile *tile, const void *a, const void *b, const void *c, void *d, double alpha,
                       double beta)
{
    if (tile->run_rank_k && beta == 0) {
        tsr_rank_k rank_k = tile->rank_k;
        rank_k.a = a;
        rank_k.b = b;
        rank_k.d = d;
        rank_k.alpha = alpha;
        tile->run_rank_k(&rank_k);
        return 1;
    }
    if (tile->panels[0].count == 0)
        return 0;
    /* Fields one by one: the processor waits where it copies at once what was just written so. */
    tsr_micro at = tile->micro;
    const char *const rows = tile->transposed ? b : a, *columns = tile->transposed ? a : b, *old = beta != 0 ? c : NULL;
    char *to = d;
    at.alpha = alpha;
    at.beta = beta;
    for (const tsr_panels *panels = tile->panels; panels < tile->panels + TSR_PANEL_KINDS; panels++)
        for (int i = 0; i < panels->count; i++) {
            at.n = panels->columns;
            at.a = rows;
            at.b = columns;
            at.c = old;
            at.d = to;
            tsr_cut_run(&panels->cut, &at, tile->d_next, tile->c_next);
            columns += panels->columns * tile->b_across;
            to += panels->columns * tile->d_across;
            old = old ? old + panels->columns * tile->c_across : NULL;
        }
    return 1;
}
