#include "lab/predict/count_kinds.h"

#include "plan/schedules.h"

/* Along one side of D: whole tiles and the last one. */
typedef struct side {
    int64_t extent[2];  /* rows or columns of D in a tile */
    long long count[2]; /* of such tiles */
    int kinds;
} side;

static side side_of(int64_t extent, int tile)
{
    const long long tiles = (extent + tile - 1) / tile, whole = extent / tile;
    side s = {.kinds = 0};
    if (whole > 0) {
        s.extent[s.kinds] = tile;
        s.count[s.kinds++] = whole;
    }
    if (tiles > whole) {
        s.extent[s.kinds] = extent % tile;
        s.count[s.kinds++] = 1;
    }
    return s;
}

/* Two kinds that store as much cannot be told apart; both then stand for the mean. */
static void add(lab_cta_kinds *kinds, double stored_bytes, double weight)
{
    for (int i = 0; i < kinds->count; i++)
        if (kinds->stored_bytes[i] == stored_bytes) {
            kinds->weight[i] = (kinds->weight[i] + weight) / 2;
            return;
        }
    kinds->stored_bytes[kinds->count] = stored_bytes;
    kinds->weight[kinds->count++] = weight;
}

int lab_cta_kinds_of(const tsr_config *config, const tsr_gemm_desc *desc, tsr_gemm_desc *small, lab_cta_kinds *out)
{
    int bm, bn;
    tsr_config_tile(config, desc->m, desc->n, &bm, &bn);
    *out = (lab_cta_kinds){.count = 0};
    *small = *desc;
    if (bm <= 0 || bn <= 0 || config->persistent || tsr_config_partitions_k(config) || tsr_config_cluster(config) > 1 ||
        desc->batch_count > 1)
        return 0;
    const side m = side_of(desc->m, bm), n = side_of(desc->n, bn);
    const double bytes = (double)tsr_dtype_bytes(desc->d.dtype);
    for (int i = 0; i < m.kinds; i++)
        for (int j = 0; j < n.kinds; j++) {
            add(out, bytes * (double)m.extent[i] * (double)n.extent[j], (double)(m.count[i] * n.count[j]));
            out->ctas += m.count[i] * n.count[j];
        }
    small->m = m.extent[0] + (m.kinds > 1 ? m.extent[1] : 0);
    small->n = n.extent[0] + (n.kinds > 1 ? n.extent[1] : 0);
    if (small->c.ld == 0)
        small->c.ld = desc->n;
    if (small->d.ld == 0)
        small->d.ld = desc->n;
    return out->count > 0;
}

double lab_cta_kinds_weight(const lab_cta_kinds *kinds, double stored_bytes)
{
    for (int i = 0; i < kinds->count; i++)
        if (kinds->stored_bytes[i] == stored_bytes)
            return kinds->weight[i];
    return 0;
}
