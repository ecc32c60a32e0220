/* The tensor cores: wgmma of a warp group. A product is only noted when it is issued; it reads shared memory, and its
 * accumulators appear in the registers, at the wait_group that guarantees it. Until then the registers hold NaN. */
#include "emu/wgmma.h"

#include <math.h>
#include <string.h>

#include "core/dtype.h"
#include "emu/machine.h"

enum { TILE_FLOATS = EMU_WGMMA_M * EMU_WGMMA_MAX_N };

void tsr_emu_wgmma_fence(void)
{
    tsr_emu_hopper_self(__builtin_return_address(0))->hopper->is_wgmma_fenced = 1;
}

/* The thread's accumulators at `d`, given over to the tensor cores if they are not yet. */
static unsigned own_accumulators(emu_thread *self, float *d, int n, int accumulate, const void *place)
{
    emu_thread_hopper *hopper = self->hopper;
    unsigned empty = EMU_ACCUMULATORS;
    for (unsigned i = 0; i < EMU_ACCUMULATORS; i++) {
        const emu_accumulators *a = &hopper->accumulators[i];
        if (a->registers == d && a->n == n)
            return i;
        if (a->registers && d < a->registers + a->n / 2 && a->registers < d + n / 2)
            tsr_emu_break("wgmma accumulators overlap those of a product in flight", place);
        if (!a->registers && empty == EMU_ACCUMULATORS)
            empty = i;
    }
    if (empty == EMU_ACCUMULATORS)
        tsr_emu_break("the emulator keeps at most 4 tiles of accumulators in flight", place);
    if (!hopper->is_wgmma_fenced)
        tsr_emu_break("wgmma on registers that the thread may have used, with no wgmma.fence before", place);
    emu_accumulators *a = &hopper->accumulators[empty];
    a->registers = d;
    a->n = n;
    for (int i = 0; i < n / 2; i++) {
        a->values[i] = accumulate ? d[i] : 0;
        d[i] = NAN;
    }
    return empty;
}

void tsr_emu_wgmma(float *d, int n, const char *types, unsigned long long a, unsigned long long b, int accumulate,
                   int mn_major_a, int mn_major_b)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    emu_thread_hopper *hopper = self->hopper;
    const int is_f16 = strcmp(types, "f32.f16.f16") == 0;
    if (!is_f16 && strcmp(types, "f32.bf16.bf16") != 0)
        tsr_emu_break("the emulator knows wgmma of bf16 and of f16 with f32 accumulators", place);
    if (n < 8 || n > EMU_WGMMA_MAX_N || n % 8)
        tsr_emu_break("wgmma's N is a multiple of 8 from 8 to 256", place);
    if (hopper->n_products == EMU_PRODUCTS)
        tsr_emu_break("the emulator keeps at most 64 products in flight", place);
    emu_product *product = &hopper->products[hopper->n_products];
    *product = (emu_product){.a = a,
                             .b = b,
                             .place = place,
                             .seen = self->id % 32 == 0 ? self->clock.seen : NULL,
                             .group = hopper->products_committed,
                             .n = (short)n,
                             .accumulate = accumulate != 0,
                             .mn_major_a = mn_major_a != 0,
                             .mn_major_b = mn_major_b != 0,
                             .is_f16 = (unsigned char)is_f16};
    product->tile = (unsigned char)own_accumulators(self, d, n, accumulate, place);
    if (product->seen)
        product->seen->references++;
    hopper->n_products++;
    tsr_emu_watch_put(self, TSR_WATCH_TENSOR, 0, (uint64_t)(2 * EMU_WGMMA_M / 4 * EMU_WGMMA_K * n), place);
    if (self->id % EMU_GROUP_THREADS == 0)
        tsr_emu_watch_put(self, TSR_WATCH_TENSOR_READ, 0, (uint64_t)((EMU_WGMMA_M + n) * EMU_WGMMA_K * 2), place);
}

void tsr_emu_wgmma_commit(void)
{
    tsr_emu_hopper_self(__builtin_return_address(0))->hopper->products_committed++;
}

/* ---- reading operands ---- */

/* 8 elements at a descriptor's address, read on behalf of the first lane of `warp`, judged by what that lane had seen
 * when it issued the product. */
static void read_chunk(emu_thread *warp, const emu_product *issued, unsigned address, float *out, size_t step)
{
    emu_cta *cta = warp->cta;
    emu_fault fault = {0};
    const emu_clock clock = {.stamp = warp->clock.stamp, .seen = issued->seen};
    if (address % 16 || address + 16 > cta->window_bytes)
        tsr_emu_break("a wgmma descriptor reaches beyond the CTA's shared memory", issued->place);
    const size_t place = tsr_emu_swizzle(warp->window + address);
    if (!tsr_emu_shared_read_async(&cta->shared, place, 16, &clock, cta->hopper->fences, &fault)) {
        fault.size = 16;
        tsr_emu_fail_thread(&fault, issued->place);
    }
    unsigned short bits[8];
    memcpy(bits, cta->shared.bytes + place, sizeof bits);
    for (size_t i = 0; i < 8; i++)
        out[i * step] = issued->is_f16 ? tsr_f16_to_f32(bits[i]) : tsr_bf16_to_f32(bits[i]);
}

/* A as a[64][16]. Rows 16 w to 16 w + 15 are warp w's. */
static void read_a(emu_thread *group, unsigned index, const emu_descriptor *descriptor, int mn_major, float *a)
{
    for (unsigned m = 0; m < EMU_WGMMA_M; m += mn_major ? 8 : 1) {
        emu_thread *warp = group + m / 16 * 32;
        for (unsigned k = 0; k < EMU_WGMMA_K; k += mn_major ? 1 : 8)
            read_chunk(warp, &warp->hopper->products[index], tsr_emu_descriptor_at(descriptor, mn_major, m, k),
                       a + m * EMU_WGMMA_K + k, mn_major ? EMU_WGMMA_K : 1);
    }
}

/* B as b[16][256]. Every warp reads all of it; each in turn stands for the others, since A tells them apart. */
static void read_b(emu_thread *group, unsigned index, const emu_descriptor *descriptor, int mn_major, unsigned n_end,
                   float *b)
{
    unsigned turn = 0;
    for (unsigned n = 0; n < n_end; n += mn_major ? 8 : 1)
        for (unsigned k = 0; k < EMU_WGMMA_K; k += mn_major ? 1 : 8) {
            emu_thread *warp = group + turn++ / 16 % 4 * 32;
            read_chunk(warp, &warp->hopper->products[index], tsr_emu_descriptor_at(descriptor, mn_major, n, k),
                       b + k * EMU_WGMMA_MAX_N + n, mn_major ? 1 : EMU_WGMMA_MAX_N);
        }
}

/* ---- a warp group's work ---- */

static float *tile_of(const emu_group *group, unsigned tile)
{
    return group->tiles + tile * TILE_FLOATS;
}

static void load_tile(emu_group *group, const emu_thread *threads, unsigned tile)
{
    float *sum = tile_of(group, tile);
    for (unsigned t = 0; t < EMU_GROUP_THREADS; t++) {
        const emu_accumulators *a = &threads[t].hopper->accumulators[tile];
        for (unsigned i = 0; i < (unsigned)a->n / 2; i++) {
            unsigned row, column;
            tsr_emu_fragment(t, i, &row, &column);
            sum[row * EMU_WGMMA_MAX_N + column] = a->values[i];
        }
    }
    group->loaded[tile] = 1;
}

/* The accumulators are the threads' again. */
static void give_back(emu_group *group, emu_thread *threads, unsigned tile)
{
    const float *sum = tile_of(group, tile);
    for (unsigned t = 0; t < EMU_GROUP_THREADS; t++) {
        emu_thread_hopper *hopper = threads[t].hopper;
        emu_accumulators *a = &hopper->accumulators[tile];
        for (unsigned i = 0; i < (unsigned)a->n / 2; i++) {
            unsigned row, column;
            tsr_emu_fragment(t, i, &row, &column);
            a->registers[i] = sum[row * EMU_WGMMA_MAX_N + column];
        }
        a->registers = NULL;
        hopper->is_wgmma_fenced = 0;
    }
    group->loaded[tile] = 0;
}

static int same_product(const emu_product *x, const emu_product *y)
{
    return x->a == y->a && x->b == y->b && x->n == y->n && x->accumulate == y->accumulate && x->group == y->group &&
           x->mn_major_a == y->mn_major_a && x->mn_major_b == y->mn_major_b && x->is_f16 == y->is_f16 &&
           x->tile == y->tile;
}

static void check_agreement(const emu_thread *threads, unsigned count)
{
    const emu_thread_hopper *first = threads[0].hopper;
    for (unsigned t = 1; t < EMU_GROUP_THREADS; t++) {
        const emu_thread_hopper *other = threads[t].hopper;
        int same = other->n_products >= count && other->products_committed == first->products_committed;
        for (unsigned i = 0; i < count && same; i++)
            same = same_product(&first->products[i], &other->products[i]);
        if (!same)
            tsr_emu_break("threads of a warp group disagree about their wgmma products", first->products[0].place);
    }
}

/* Of the group's oldest `count` products. */
static void execute(emu_group *group, emu_thread *threads, unsigned count)
{
    float a[EMU_WGMMA_M * EMU_WGMMA_K], b[EMU_WGMMA_K * EMU_WGMMA_MAX_N];
    const emu_product *last = NULL;
    for (unsigned i = 0; i < count; i++) {
        const emu_product *product = &threads[0].hopper->products[i];
        const emu_descriptor left = tsr_emu_descriptor(product->a), right = tsr_emu_descriptor(product->b);
        const char *fault = tsr_emu_descriptor_fault(&left);
        fault = fault ? fault : tsr_emu_descriptor_fault(&right);
        if (fault)
            tsr_emu_break(fault, product->place);
        if (!group->loaded[product->tile])
            load_tile(group, threads, product->tile);
        float *sum = tile_of(group, product->tile);
        if (!product->accumulate)
            memset(sum, 0, TILE_FLOATS * sizeof *sum);
        read_a(threads, i, &left, product->mn_major_a, a);
        if (!last || last->b != product->b || last->mn_major_b != product->mn_major_b || last->n != product->n)
            read_b(threads, i, &right, product->mn_major_b, (unsigned)product->n, b);
        tsr_emu_multiply(sum, a, b, product->n);
        last = product;
    }
}

/* Forgets the oldest products of a thread. */
static void retire(emu_thread *thread, unsigned count)
{
    emu_thread_hopper *hopper = thread->hopper;
    for (unsigned i = 0; i < count; i++)
        tsr_emu_seen_drop(&thread->cta->shared.time, hopper->products[i].seen);
    hopper->n_products -= count;
    memmove(hopper->products, hopper->products + count, hopper->n_products * sizeof *hopper->products);
}

/* The instruction is the whole warp's: its reads happened before what any lane does next. */
static void join_warp(emu_thread *warp)
{
    emu_time *time = &warp->cta->shared.time;
    emu_seen *board = NULL;
    for (unsigned lane = 0; lane < 32; lane++)
        if (!tsr_emu_clock_release(time, &warp[lane].clock, &board))
            tsr_emu_misuse("the emulator ran out of memory or clocks");
    for (unsigned lane = 0; lane < 32; lane++)
        tsr_emu_clock_adopt(time, &warp[lane].clock, board);
    tsr_emu_seen_drop(time, board);
}

static void finish_products(emu_thread *self, emu_group *group, unsigned count)
{
    emu_thread *threads = tsr_emu_group_threads(self);
    if (!group->tiles)
        group->tiles =
            tsr_alloc(self->cta->worker->launch->job->allocator, 64, EMU_ACCUMULATORS * TILE_FLOATS * sizeof(float));
    if (!group->tiles)
        tsr_emu_misuse("the emulator ran out of memory");
    check_agreement(threads, count);
    execute(group, threads, count);
    for (unsigned t = 0; t < EMU_GROUP_THREADS; t++)
        retire(&threads[t], count);
    const emu_thread_hopper *first = threads[0].hopper;
    for (unsigned tile = 0; tile < EMU_ACCUMULATORS; tile++) {
        int in_flight = !first->accumulators[tile].registers;
        for (unsigned i = 0; i < first->n_products; i++)
            in_flight |= first->products[i].tile == tile;
        if (!in_flight)
            give_back(group, threads, tile);
    }
    for (unsigned warp = 0; warp < EMU_GROUP_THREADS / 32; warp++)
        join_warp(&threads[warp * 32]);
}

void tsr_emu_wgmma_wait(int pending)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    const emu_thread_hopper *hopper = self->hopper;
    emu_group *group = tsr_emu_group_of(self);
    unsigned ready = 0;
    while (ready < hopper->n_products && hopper->products[ready].group + (unsigned)pending < hopper->products_committed)
        ready++;
    if (ready == 0)
        return;
    if (++group->arrived < EMU_GROUP_THREADS) {
        tsr_emu_wait_in(self, &group->waiting, place);
        return;
    }
    group->arrived = 0;
    finish_products(self, group, ready);
    tsr_emu_wake_all(&group->waiting);
}

void tsr_emu_products_end(emu_thread *thread)
{
    if (thread->hopper->n_products)
        tsr_emu_break("a thread ends before its wgmma products are waited for", thread->hopper->products[0].place);
}
