/* What to do about a kernel, or a problem, that stands where it stands under a roofline. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/config.h"
#include "lab/predict/warp_cost.h"
#include "lab/roofline/roofpoint.h"
#include "plan/plan.h"

enum { WARP = 32 };

static void advise(lab_advice *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void advise(lab_advice *to, const char *format, ...)
{
    va_list list;
    if (to->count == LAB_ADVICE_MAX)
        return;
    va_start(list, format);
    vsnprintf(to->text[to->count++], LAB_ADVICE_BYTES, format, list);
    va_end(list);
}

/* ---- a kernel, from its counters -------------------------------------------------------------------------------- */

static int uses_shared_memory(const lab_counters *c)
{
    return c->shared_load.requests + c->shared_load_merged.requests + c->tensor_shared_bytes > 0;
}

/* Sectors that a warp's load touches, on average, beside those that its bytes fill. */
static void advise_coalescing(const lab_counters *c, lab_advice *to)
{
    const double requests = c->load.requests + c->copy.requests;
    const double sectors = requests > 0 ? (c->load.sectors + c->copy.sectors) / requests : 0;
    const double least = requests > 0 ? (c->load.bytes + c->copy.bytes) / requests / LAB_SECTOR_BYTES : 0;
    if (least > 0 && sectors > 1.25 * least)
        advise(to,
               "coalescing: a warp's load touches %.1f sectors where %.1f would do; let neighbouring threads load "
               "neighbouring elements",
               sectors, least);
}

static void advise_tiles(const lab_roofpoint *p, lab_advice *to)
{
    const lab_counters *c = &p->counters;
    if (!uses_shared_memory(c))
        advise(to,
               "shared memory: each element is loaded anew by each thread that needs it; tiles of 32 x 32 would cut "
               "the loads 32 times, to %.3g FLOP/B",
               32 * p->intensity);
    else if (p->intensity < p->ridge && c->tensor_flops <= 0)
        advise(
            to,
            "traffic: %.3g FLOP for each byte loaded, the ridge is at %.3g; tiles %.3g times as wide, with more sums "
            "in registers, would reach it without the caches",
            p->intensity, p->ridge, ceil(p->ridge / p->intensity));
    if (p->intensity_moved > 1.5 * p->intensity)
        advise(to, "broadcasts and L1 already save %.0f%% of the bytes on their way from L2",
               100 * (1 - p->intensity / p->intensity_moved));
}

static void advise_shared(const lab_counters *c, lab_advice *to)
{
    const lab_shared_traffic *reads = &c->shared_load_merged;
    const double fills = c->shared_store.conflicts + c->copy_shared.conflicts;
    const double passes = reads->wavefronts + c->shared_store.wavefronts + c->copy_shared.wavefronts;
    if (c->warp_fma > 0 && passes > 0.25 * c->warp_fma)
        advise(
            to,
            "shared memory: %.2f passes over the banks for each multiply-add of a warp, an SM has time for 0.25; more "
            "sums for each thread",
            passes / c->warp_fma);
    if (passes > 0 && (reads->conflicts + fills) / passes > 0.1)
        advise(to, "bank conflicts: %.0f%% of the passes over the banks; pad or swizzle the tiles",
               100 * (reads->conflicts + fills) / passes);
}

/* Tiles of D that the kernel's CTAs make, and how many times the SMs are filled with them. */
static void advise_waves(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, const lab_roofpoint *p, lab_advice *to)
{
    const tsr_config *config = NULL;
    for (size_t i = 0; i < tsr_config_count() && !config; i++)
        config = strcmp(tsr_config_at(i)->instance, p->counters.instance) == 0 ? tsr_config_at(i) : NULL;
    if (!config || config->bm <= 0 || config->bn <= 0)
        return;
    const double tiles = ceil((double)desc->m / config->bm) * ceil((double)desc->n / config->bn);
    const double at_once = (double)gpu->sms * (p->prediction.occupancy.ctas > 0 ? p->prediction.occupancy.ctas : 1);
    const double waves = tiles / at_once, last = waves - floor(waves);
    if (waves < 1)
        advise(to, "waves: %.0f tiles of %d x %d for %d SMs that hold %.0f at once; smaller tiles, or parts of K",
               tiles, config->bm, config->bn, gpu->sms, at_once);
    else if (last > 0 && last < 0.5 && waves < 8)
        advise(to,
               "waves: %.0f tiles of %d x %d are %.2f times what %d SMs hold; the last wave is %.0f%% full: "
               "partition steps of K (stream-K), or take other tiles",
               tiles, config->bm, config->bn, waves, gpu->sms, 100 * last);
}

static void advise_units(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, const lab_counters *c, lab_advice *to)
{
    enum { HOPPER = 90 };
    if (c->tensor_flops <= 0 && desc->a.dtype == TSR_F32)
        advise(to, "tensor cores: they multiply 16-bit factors, or f32 in tf32 (--compute tf32), several times faster");
    else if (c->tensor_flops <= 0 && (desc->a.dtype != TSR_F64 || gpu->tensor64_flops_per_clock > 0))
        advise(to, "tensor cores have a higher peak for this type");
    else if (desc->a.dtype == TSR_F32)
        advise(to, "mixed precision: 16-bit factors with sums in f32 have twice the peak of tf32");
    if (c->tensor_shared_bytes > 0 && gpu->arch >= HOPPER)
        advise(to,
               "precision: 8-bit factors have twice the peak on this GPU; clocks fall as tensor cores draw power, and "
               "the peak with them");
    if (c->tensor_flops > 0 && c->tensor_shared_bytes <= 0 && gpu->arch >= HOPPER && desc->a.dtype != TSR_F32 &&
        desc->a.dtype != TSR_F64)
        advise(to, "wgmma: this GPU's tensor cores read factors from shared memory by themselves, which mma.sync, fed "
                   "from registers, cannot keep up with");
}

void lab_advise_kernel(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, lab_roofpoint *p)
{
    const lab_counters *c = &p->counters;
    lab_advice *const to = &p->advice;
    if (p->bounds.by == LAB_ROOF_DRAM)
        advise(to,
               "the problem: with A, B and D moved once each it has %.3g FLOP for each byte of DRAM, the ridge is at "
               "%.3g; no kernel is faster than %.3g TFLOP/s, but for fewer bytes: shorter types, larger problems",
               p->intensity_ideal, p->ridge, p->bound_flops_s * 1e-12);
    advise_coalescing(c, to);
    if (p->is_memory_bound)
        advise_tiles(p, to);
    advise_shared(c, to);
    if (c->bulk_load.requests <= 0 && p->prediction.occupancy.share < 0.25) /* with TMA one block feeds itself */
        advise(to,
               "occupancy: %d block%s on an SM, %.0f%% of its warps, limited by %s; so few warps hide little "
               "latency: each thread needs independent instructions",
               p->prediction.occupancy.ctas, p->prediction.occupancy.ctas == 1 ? "" : "s",
               100 * p->prediction.occupancy.share, p->prediction.occupancy.limit);
    advise_waves(gpu, desc, p, to);
    if (!p->is_memory_bound || uses_shared_memory(c))
        advise_units(gpu, desc, c, to);
}

/* ---- a problem --------------------------------------------------------------------------------------------------- */

static void advise_small_bound(const tsr_gemm_desc *desc, const lab_problem_roof *roof, lab_advice *to)
{
    enum { SKINNY = 32 };
    const long long thin = (long long)(desc->m < desc->n ? desc->m : desc->n);
    if (thin <= SKINNY)
        advise(
            to,
            "reuse: each element of the larger operand is used %lld time%s, whatever the tiles; products with the same "
            "operand, done together as one, would read it once for all of them",
            thin, thin == 1 ? "" : "s");
    advise(to,
           "traffic: read A and B once from DRAM: a tile that spans all of %s, so that %s is read once, or CTAs that "
           "share rows or columns in one wave, so that L2 has them",
           desc->m < desc->n ? "M" : "N", desc->m < desc->n ? "B" : "A");
    advise(to,
           "coalescing: whole 128-byte lines, 16 bytes a thread; leading dimensions that are multiples of %d elements",
           (int)(16 / tsr_dtype_bytes(desc->a.dtype)));
    if (tsr_dtype_bytes(desc->a.dtype) > 1)
        advise(to,
               "precision: operands of half the bytes raise the bound, to twice at most; faster units do not: at %.3g "
               "FLOP/B they are busy for %.2g%% of the time",
               roof->intensity, 100 * roof->bound_flops_s / roof->peak_flops_s);
}

static void advise_large_bound(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, const lab_problem_roof *roof,
                               lab_advice *to)
{
    enum { HOPPER = 90 };
    const double bytes = (double)tsr_dtype_bytes(desc->a.dtype);
    /* Of an element, on average over both operands: a compressed one has half of the values, and two bits for each. */
    const double loaded = desc->flags & TSR_SPARSE24 ? (bytes + bytes / 2 + 1.0 / 8) / 2 : bytes;
    char share[16] = "T";
    if (loaded != 1)
        snprintf(share, sizeof share, "T/%.3g", loaded);
    if (desc->a.dtype == TSR_F32 && desc->compute != TSR_COMPUTE_TF32)
        advise(to, "tensor cores: f32 in tf32, or 16-bit factors with sums in f32, have a peak several times as high");
    else if (desc->a.dtype == TSR_F64 && gpu && gpu->tensor64_flops_per_clock > 0)
        advise(to, "tensor cores: the peak is theirs; the units that multiply without them have %.2g%% of it",
               200 * gpu->fma64_per_clock / gpu->tensor64_flops_per_clock);
    else if (desc->a.dtype == TSR_F32 || (bytes > 1 && gpu && gpu->arch >= HOPPER))
        advise(to, "precision: factors of half the bytes have twice the peak on tensor cores");
    advise(to,
           "tiles: a T x T tile loads 1 byte for each %s FLOP; with T above %.0f DRAM is fast enough for that, with "
           "smaller tiles L2 must have what the CTAs beside it have loaded",
           share, ceil(roof->ridge * loaded));
    advise(to,
           "occupancy: enough warps, or stages of asynchronous copies, that the units which multiply never wait for "
           "loads; one block with a ring of several stages will do");
}

void lab_advise_problem(const lab_gpu_spec *gpu, const tsr_gemm_desc *desc, const lab_problem_roof *roof,
                        lab_advice *out)
{
    enum { TILE = 128 };
    out->count = 0;
    if (roof->is_memory_bound)
        advise_small_bound(desc, roof, out);
    else
        advise_large_bound(gpu, desc, roof, out);
    const double tiles = ceil((double)desc->m / TILE) * ceil((double)desc->n / TILE) * (double)desc->batch_count;
    if (gpu && tiles < gpu->sms)
        advise(out,
               "split of K: %.0f tile%s of %d x %d for %d SMs; smaller tiles, or parts of K whose sums are added, "
               "give each SM work",
               tiles, tiles == 1 ? "" : "s", TILE, TILE, gpu->sms);
    else if (gpu && tiles < 4 * gpu->sms)
        advise(out,
               "waves: %.0f tiles of %d x %d are %.2f times the %d SMs; where the last wave is nearly empty, "
               "stream-K gives each SM as many steps of K",
               tiles, TILE, TILE, tiles / gpu->sms, gpu->sms);
}
