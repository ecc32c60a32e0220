/* Products whose D is one column of register tiles: what every run of one problem shares, worked out once. */
#ifndef TSR_CPU_TILE_H
#define TSR_CPU_TILE_H

#include "core/device.h"
#include "core/gemm_args.h"
#include "cpu/micro.h"

/* Rows cut into tiles of nearly equal height, the `higher` ones, by one, first. */
typedef struct tsr_cut {
    tsr_micro_run *run[2]; /* of the lower and of the higher tiles */
    int count, least, higher;
} tsr_cut;

/* Runs the tiles; `tile` is the first one. Where the next row's part of D and C is. */
static inline void tsr_cut_run(const tsr_cut *cut, tsr_micro *tile, int64_t d_next, int64_t c_next)
{
    for (int i = 0; i < cut->count; i++) {
        const int is_higher = i < cut->higher, take = cut->least + is_higher;
        cut->run[is_higher](tile);
        tile->a = (const char *)tile->a + take * tile->a_row_bytes;
        tile->d = (char *)tile->d + take * d_next;
        if (tile->c)
            tile->c = (const char *)tile->c + take * c_next;
    }
}

typedef struct tsr_cpu_tile {
    tsr_cut cut;            /* count 0: D needs more than that, or is done by code of its own */
    tsr_micro micro;        /* without pointers and factors */
    int turned;             /* the tiles take B for A and A for B */
    int64_t d_next, c_next; /* bytes from a tile's row to the next one's part of D and C */
} tsr_cpu_tile;

/* For M, N and K above 0, one problem, f32 or f64, whatever pointers and factors; with the instruction set that the
 * device has now. */
void tsr_cpu_tile_make(const tsr_device *device, tsr_dtype dtype, const tsr_gemm_args *args, tsr_cpu_tile *out);

/* cut.count is not 0, alpha is not 0; with beta = 0 C is not read. */
static inline void tsr_cpu_tile_run(const tsr_cpu_tile *tile, const void *a, const void *b, const void *c, void *d,
                                    double alpha, double beta)
{
    tsr_micro micro = tile->micro;
    micro.a = tile->turned ? b : a;
    micro.b = tile->turned ? a : b;
    micro.c = c;
    micro.d = d;
    micro.alpha = alpha;
    micro.beta = beta;
    if (tile->cut.count == 1)
        tile->cut.run[0](&micro);
    else
        tsr_cut_run(&tile->cut, &micro, tile->d_next, tile->c_next);
}

#endif
