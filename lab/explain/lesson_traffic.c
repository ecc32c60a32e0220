/* What the memory system makes of the steps of a lesson. */
#include "lab/explain/lesson.h"
#include "lab/predict/warp_cost.h"

enum { WARP = 32, BASE = 256 /* of operands: an address of 0 would be none */ };

/* Where one warp's lanes are. */
typedef struct warp_access {
    uint64_t global[WARP], shared[WARP];
    uint32_t global_lanes, shared_lanes;
} warp_access;

static int is_global(const lab_step *step)
{
    return step->kind == LAB_STEP_LOAD || step->kind == LAB_STEP_STORE || step->kind == LAB_STEP_COPY;
}

/* The address of an element, from its operand's start. */
static uint64_t address_of(const lab_lesson *lesson, const lab_step *step, int32_t element)
{
    const int64_t columns = lab_lesson_columns(lesson, step->operand), row = element / columns;
    const int trans = (step->operand == 'A' && lesson->trans_a) || (step->operand == 'B' && lesson->trans_b);
    const int64_t rows = step->operand == 'B' ? lesson->k : lesson->m, column = element % columns;
    const int elem_bytes = step->kind == LAB_STEP_STORE ? lesson->elem_bytes_d : lesson->elem_bytes;
    if (lesson->is_sparse_a && step->operand == 'A') /* lines along K of every second element */
        return (uint64_t)BASE + (uint64_t)(row * (columns / 2) + column / 2) * (uint64_t)elem_bytes;
    return (uint64_t)BASE + (uint64_t)(trans ? column * rows + row : element) * (uint64_t)elem_bytes;
}

static warp_access access_of(const lab_lesson *lesson, const lab_step *step, int warp)
{
    const int threads = lesson->threads_x * lesson->threads_y;
    warp_access access = {.global_lanes = 0};
    for (int lane = 0; lane < WARP && warp * WARP + lane < threads; lane++) {
        const unsigned thread = (unsigned)(warp * WARP + lane);
        const int32_t element = step->elements[thread * step->width];
        if (is_global(step) && element >= 0) {
            access.global[lane] = address_of(lesson, step, element);
            access.global_lanes |= 1u << lane;
        }
        if (step->words && step->words[thread] >= 0) {
            access.shared[lane] = (uint64_t)step->words[thread] * (uint64_t)lesson->elem_bytes;
            access.shared_lanes |= 1u << lane;
        }
    }
    return access;
}

/* Sectors that would do for as many different elements, if they were neighbours. */
static unsigned ideal_sectors(const warp_access *access, unsigned bytes)
{
    unsigned distinct = 0;
    for (int lane = 0; lane < WARP; lane++) {
        int is_first = access->global_lanes >> lane & 1;
        for (int other = 0; other < lane && is_first; other++)
            is_first = !(access->global_lanes >> other & 1) || access->global[other] != access->global[lane];
        distinct += is_first ? 1 : 0;
    }
    return (distinct * bytes + LAB_SECTOR_BYTES - 1) / LAB_SECTOR_BYTES;
}

static void add_warp(const lab_lesson *lesson, const lab_step *step, int warp, lab_step_cost *sum)
{
    const warp_access access = access_of(lesson, step, warp);
    uint64_t sectors[LAB_WARP_SECTORS];
    lab_banks banks;
    sum->requests += access.global_lanes || access.shared_lanes;
    if (access.global_lanes) {
        sum->sectors += lab_warp_sectors(access.global, access.global_lanes, step->bytes, sectors);
        sum->ideal_sectors += ideal_sectors(&access, step->bytes);
    }
    if (access.shared_lanes) {
        const lab_wavefronts waves = lab_warp_wavefronts(access.shared, access.shared_lanes, step->bytes, &banks);
        sum->wavefronts += waves.count;
        sum->ideal_wavefronts += waves.ideal;
    }
}

lab_step_cost lab_step_cost_of(const lab_lesson *lesson, const lab_step *step, int warp)
{
    lab_step_cost sum = {0};
    const int warps = (lesson->threads_x * lesson->threads_y + WARP - 1) / WARP;
    if (step->kind == LAB_STEP_WARP)
        return sum;
    for (int i = 0; i < warps; i++)
        if (warp < 0 || warp == i)
            add_warp(lesson, step, i, &sum);
    return sum;
}
