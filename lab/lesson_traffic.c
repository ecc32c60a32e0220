/* What the memory system makes of the steps of a lesson. */
#include "lab/lesson.h"

enum { WARP = 32, BANKS = 32, BANK_BYTES = 4, SECTOR_BYTES = 32 };

/* One warp's access: where each lane's begins, -1 if it takes no part. */
typedef struct warp_access {
    int64_t at[WARP];
    unsigned bytes; /* of each lane */
} warp_access;

/* Different pieces of `unit` bytes that the lanes first .. first + count - 1 touch; of one bank if `bank` is not -1. */
static unsigned distinct(const warp_access *w, int first, int count, int64_t unit, int bank)
{
    int64_t seen[WARP * 16]; /* pieces of a byte at least, accesses of 16 at most */
    unsigned n = 0;
    for (int lane = first; lane < first + count; lane++)
        for (int64_t at = w->at[lane]; w->at[lane] >= 0 && at < w->at[lane] + w->bytes; at = at / unit * unit + unit) {
            const int64_t piece = at / unit;
            unsigned i = 0;
            if (bank >= 0 && piece % BANKS != bank)
                continue;
            while (i < n && seen[i] != piece)
                i++;
            if (i == n)
                seen[n++] = piece;
        }
    return n;
}

static unsigned passes(const warp_access *w, int first, int count)
{
    unsigned most = 0;
    for (int bank = 0; bank < BANKS; bank++) {
        const unsigned words = distinct(w, first, count, BANK_BYTES, bank);
        most = words > most ? words : most;
    }
    return most;
}

/* 1 if each lane reads what the lane `apart` from it reads: then 16-byte reads are served by halves of a warp. */
static int is_shared_by_neighbours(const warp_access *w, int apart)
{
    for (int lane = 0; lane < WARP; lane++)
        if (w->at[lane] != w->at[lane ^ apart])
            return 0;
    return 1;
}

/* Lanes that are served together: all, a half or a quarter of a warp, by the size of an access. */
static int lanes_together(const warp_access *w)
{
    if (w->bytes <= 4)
        return WARP;
    if (w->bytes <= 8)
        return WARP / 2;
    return is_shared_by_neighbours(w, 1) || is_shared_by_neighbours(w, 2) ? WARP / 2 : WARP / 4;
}

static unsigned wavefronts(const warp_access *w)
{
    const int together = lanes_together(w);
    unsigned sum = 0;
    for (int first = 0; first < WARP; first += together)
        sum += passes(w, first, together);
    return sum;
}

static void add_warp(const lab_lesson *lesson, const lab_step *step, int warp, lab_traffic *sum)
{
    const int threads = lesson->threads_x * lesson->threads_y;
    const int elem_bytes = step->kind == LAB_STEP_STORE ? lesson->elem_bytes_d : lesson->elem_bytes;
    warp_access global = {.bytes = step->bytes}, shared = {.bytes = step->bytes};
    int has_global = 0, has_shared = 0;
    for (int lane = 0; lane < WARP; lane++) {
        const int thread = warp * WARP + lane;
        const int32_t element = thread < threads ? step->elements[(unsigned)thread * step->width] : LAB_NO_THREAD;
        const int is_global =
            step->kind == LAB_STEP_LOAD || step->kind == LAB_STEP_STORE || step->kind == LAB_STEP_COPY;
        global.at[lane] = shared.at[lane] = -1;
        if (is_global && element >= 0) {
            const int64_t columns = lab_lesson_columns(lesson, step->operand), row = element / columns;
            const int trans = (step->operand == 'A' && lesson->trans_a) || (step->operand == 'B' && lesson->trans_b);
            const int64_t rows = step->operand == 'B' ? lesson->k : lesson->m, column = element % columns;
            global.at[lane] = (trans ? column * rows + row : element) * elem_bytes;
        }
        if (step->words && thread < threads && step->words[thread] >= 0)
            shared.at[lane] = (int64_t)step->words[thread] * lesson->elem_bytes;
        has_global |= global.at[lane] >= 0;
        has_shared |= shared.at[lane] >= 0;
        if (global.at[lane] >= 0 || shared.at[lane] >= 0)
            sum->bytes += step->bytes;
    }
    sum->requests += has_global || has_shared;
    if (has_global) {
        sum->sectors += distinct(&global, 0, WARP, SECTOR_BYTES, -1);
        sum->ideal_sectors +=
            (distinct(&global, 0, WARP, elem_bytes, -1) * (unsigned)elem_bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
    }
    if (has_shared) {
        sum->wavefronts += wavefronts(&shared);
        sum->ideal_wavefronts += (distinct(&shared, 0, WARP, BANK_BYTES, -1) + BANKS - 1) / BANKS;
    }
}

lab_traffic lab_step_traffic(const lab_lesson *lesson, const lab_step *step, int warp)
{
    lab_traffic sum = {0};
    const int warps = (lesson->threads_x * lesson->threads_y + WARP - 1) / WARP;
    if (step->kind == LAB_STEP_WARP)
        return sum;
    for (int i = 0; i < warps; i++)
        if (warp < 0 || warp == i)
            add_warp(lesson, step, i, &sum);
    return sum;
}
