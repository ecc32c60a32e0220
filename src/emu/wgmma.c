/* The tensor cores: wgmma of a warp group. A product is only noted when it is issued; it reads shared memory, and its
 * accumulators appear in the registers, at the wait_group that guarantees it. Until then the registers hold NaN. */
#include "emu/wgmma.h"

#include <math.h>
#include <string.h>

#include "core/dtype.h"
#include "emu/emulated_machine.h"
#include "ptx/emulator_sparse.h"

enum { TILE_FLOATS = EMU_WGMMA_M * EMU_WGMMA_MAX_N, MOST_K = EMU_TENSOR_MOST_K, MOST_SPARSE_K = 2 * MOST_K };

/* Of a warp group: its tiles of accumulators, and the operands of the product at hand. */
struct emu_tensor_work {
    float tiles[EMU_ACCUMULATORS][TILE_FLOATS];
    float a_values[EMU_WGMMA_M * MOST_K], b_values[MOST_SPARSE_K * EMU_WGMMA_MAX_N];
    int a_exponents[EMU_WGMMA_M * MOST_K], b_exponents[MOST_K * EMU_WGMMA_MAX_N];
    float b_kept[MOST_K * EMU_WGMMA_MAX_N]; /* of wgmma.sp: what one row of A multiplies */
};

void tsr_emu_wgmma_fence(void)
{
    tsr_emu_hopper_self(__builtin_return_address(0))->hopper->is_wgmma_fenced = 1;
}

/* 32-bit registers of a thread's accumulators. */
static int register_count(int n, int is_f16)
{
    return is_f16 ? n / 4 : n / 2;
}

static uint16_t narrow(float value)
{
    const uint16_t canonical_nan = 0x7fff;
    return value != value ? canonical_nan : tsr_f32_to_f16(value);
}

/* The registers' accumulators as floats, and back; f16 lie two to a register. */
static void unpack(float *values, const float *registers, int n, int is_f16)
{
    uint16_t halves[EMU_WGMMA_MAX_N / 2];
    memcpy(is_f16 ? (void *)halves : (void *)values, registers, (size_t)register_count(n, is_f16) * sizeof *registers);
    for (int i = 0; i < n / 2 && is_f16; i++)
        values[i] = tsr_f16_to_f32(halves[i]);
}

static void pack(float *registers, const float *values, int n, int is_f16)
{
    uint16_t halves[EMU_WGMMA_MAX_N / 2];
    for (int i = 0; i < n / 2 && is_f16; i++)
        halves[i] = narrow(values[i]);
    memcpy(registers, is_f16 ? (const void *)halves : (const void *)values,
           (size_t)register_count(n, is_f16) * sizeof *registers);
}

/* The thread's accumulators at `d`, given over to the tensor cores if they are not yet. */
static unsigned own_accumulators(emu_thread *self, float *d, int n, int is_f16, int accumulate, const void *place)
{
    emu_thread_hopper *hopper = self->hopper;
    unsigned empty = EMU_ACCUMULATORS;
    for (unsigned i = 0; i < EMU_ACCUMULATORS; i++) {
        const emu_accumulators *a = &hopper->accumulators[i];
        if (a->registers == d && a->n == n && a->is_f16 == is_f16)
            return i;
        if (a->registers && d < a->registers + register_count(a->n, a->is_f16) &&
            a->registers < d + register_count(n, is_f16))
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
    a->is_f16 = is_f16;
    if (accumulate)
        unpack(a->values, d, n, is_f16);
    else
        memset(a->values, 0, (size_t)n / 2 * sizeof *a->values);
    for (int i = 0; i < register_count(n, is_f16); i++)
        d[i] = NAN;
    return empty;
}

/* Of K: all of it, of which a sparse A has half. */
static int product_k(const emu_product *product)
{
    return EMU_WGMMA_K_BYTES / tsr_emu_wgmma_types[product->type].element_bytes * (product->is_sparse ? 2 : 1);
}

static void tell_product(const emu_thread *self, const emu_product *product)
{
    const emu_wgmma_type *type = &tsr_emu_wgmma_types[product->type];
    const emu_descriptor a = tsr_emu_descriptor(product->a), b = tsr_emu_descriptor(product->b);
    const tsr_event_product told = {.types = type->name,
                                    .n = product->n,
                                    .k = product_k(product),
                                    .element_bytes = type->element_bytes,
                                    .accumulate = product->accumulate,
                                    .a_in_registers = product->a_in_registers,
                                    .mn_major_a = product->mn_major_a,
                                    .mn_major_b = product->mn_major_b,
                                    .a_at = a.start,
                                    .b_at = b.start,
                                    .row_bytes = b.row_bytes};
    tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_PRODUCT,
                                   .other = self->rank,
                                   .number = product->group,
                                   .product = &told,
                                   .place = product->place});
}

/* What shared- and register-A products have in common. */
static void issue(emu_thread *self, float *d, int n, const char *types, emu_product product, const void *place)
{
    emu_thread_hopper *hopper = self->hopper;
    const int type = tsr_emu_find_wgmma_type(types);
    if (type < 0)
        tsr_emu_break("wgmma knows no such types", place);
    if (n < 8 || n > EMU_WGMMA_MAX_N || n % 8)
        tsr_emu_break("wgmma's N is a multiple of 8 from 8 to 256", place);
    const tsr_emu_format format = tsr_emu_wgmma_types[type].a;
    const int element_bytes = tsr_emu_wgmma_types[type].element_bytes;
    if ((format == TSR_EMU_S8 || format == TSR_EMU_U8) && n > 24 && n % 16)
        tsr_emu_break("wgmma's N for integers is 8, 24, or a multiple of 16", place);
    if (element_bytes != 2 && (product.mn_major_a || product.mn_major_b))
        tsr_emu_break("wgmma takes MN-major operands of 16-bit elements only", place);
    if (product.is_sparse && product.selector > (element_bytes != 1))
        tsr_emu_break("wgmma.sp takes 16 bits and tf32 with selector 0 or 1, and 8 bits with 0", place);
    if (hopper->n_products == EMU_PRODUCTS)
        tsr_emu_break("the emulator keeps at most 64 products in flight", place);
    product.place = place;
    product.n = (short)n;
    product.type = (unsigned char)type;
    product.group = hopper->products_committed;
    product.tile =
        (unsigned char)own_accumulators(self, d, n, tsr_emu_wgmma_types[type].to_f16, product.accumulate, place);
    product.floor = self->cta->shared.time.floor;
    product.seen = self->id % 32 == 0 ? self->clock.seen : NULL;
    if (product.seen)
        product.seen->references++;
    hopper->products[hopper->n_products++] = product;
    if (self->cta->listener && self == tsr_emu_group_threads(self))
        tell_product(self, &product);
    const int k = EMU_WGMMA_K_BYTES / element_bytes;
    tsr_emu_watch_put(self, TSR_WATCH_TENSOR, 0, (uint64_t)2 * EMU_WGMMA_M / 4 * (uint64_t)k * (uint64_t)n, place);
    if (self->id % EMU_GROUP_THREADS == 0)
        tsr_emu_watch_put(self, TSR_WATCH_TENSOR_READ, 0,
                          (uint64_t)((product.a_in_registers ? 0 : EMU_WGMMA_M) + (product.is_sparse ? 2 * n : n)) *
                              EMU_WGMMA_K_BYTES,
                          place);
}

void tsr_emu_wgmma(float *d, int n, const char *types, unsigned long long a, unsigned long long b, int accumulate,
                   int mn_major_a, int mn_major_b)
{
    const void *place = __builtin_return_address(0);
    const emu_product product = {
        .a = a, .b = b, .accumulate = accumulate != 0, .mn_major_a = mn_major_a != 0, .mn_major_b = mn_major_b != 0};
    issue(tsr_emu_hopper_self(place), d, n, types, product, place);
}

void tsr_emu_wgmma_register_a(float *d, int n, const char *types, const unsigned a[4], unsigned long long b,
                              int accumulate, int mn_major_b)
{
    const void *place = __builtin_return_address(0);
    const emu_product product = {.registers = {a[0], a[1], a[2], a[3]},
                                 .b = b,
                                 .accumulate = accumulate != 0,
                                 .a_in_registers = 1,
                                 .mn_major_b = mn_major_b != 0};
    issue(tsr_emu_hopper_self(place), d, n, types, product, place);
}

void tsr_emu_wgmma_sparse(float *d, int n, const char *types, unsigned long long a, unsigned long long b,
                          unsigned metadata, int selector, int accumulate, int mn_major_b)
{
    const void *place = __builtin_return_address(0);
    const emu_product product = {.a = a,
                                 .b = b,
                                 .registers = {metadata},
                                 .accumulate = accumulate != 0,
                                 .is_sparse = 1,
                                 .selector = (unsigned char)selector,
                                 .mn_major_b = mn_major_b != 0};
    issue(tsr_emu_hopper_self(place), d, n, types, product, place);
}

void tsr_emu_wgmma_commit(void)
{
    const emu_thread *self = tsr_emu_hopper_self(__builtin_return_address(0));
    if (self->cta->listener && self == tsr_emu_group_threads(self))
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_COMMIT,
                                       .other = self->rank,
                                       .number = self->hopper->products_committed,
                                       .place = __builtin_return_address(0)});
    self->hopper->products_committed++;
}

/* ---- reading operands ---- */

/* Where a row of an operand goes: element i of the 16 bytes to index first + i * step. */
typedef struct target {
    float *values;
    int first, step;
} target;

static void put_elements(const unsigned char *bytes, int count, tsr_emu_format format, int element_bytes, target to)
{
    for (int i = 0; i < count; i++)
        to.values[to.first + i * to.step] = tsr_emu_element(format, bytes + i * element_bytes);
}

/* 16 bytes at a descriptor's address, read on behalf of the first lane of `warp`, judged by what that lane had seen
 * when it issued the product. */
static void read_chunk(emu_thread *warp, unsigned index, const emu_descriptor *descriptor, unsigned address,
                       tsr_emu_format format, target to)
{
    const emu_product *issued = &warp->hopper->products[index];
    const int element_bytes = tsr_emu_wgmma_types[issued->type].element_bytes;
    emu_cta *cta = warp->cta;
    emu_fault fault = {0};
    const emu_clock clock = {.stamp = warp->clock.stamp, .seen = issued->seen};
    if (address + 16 > cta->window_bytes)
        tsr_emu_break("a wgmma descriptor reaches beyond the CTA's shared memory", issued->place);
    const size_t place = tsr_emu_swizzle(warp->window + address, descriptor->row_bytes);
    /* Where a barrier of the CTA came since, the present knowledge says too much. */
    if ((issued->floor != cta->shared.time.floor &&
         !tsr_emu_shared_unchanged(&cta->shared, place, 16, &clock, issued->floor, &fault)) ||
        !tsr_emu_shared_read_async(&cta->shared, place, 16, &clock, cta->hopper->fences, &fault)) {
        fault.size = 16;
        tsr_emu_fail_thread(&fault, issued->place);
    }
    put_elements(cta->shared.bytes + place, 16 / element_bytes, format, element_bytes, to);
}

/* A as a[64][k]. Rows 16 w to 16 w + 15 are warp w's. */
static void read_a(emu_thread *group, unsigned index, int k_end, float *a)
{
    const emu_product *product = &group->hopper->products[index];
    const emu_wgmma_type *type = &tsr_emu_wgmma_types[product->type];
    const emu_descriptor from = tsr_emu_descriptor(product->a);
    for (int m = 0; m < EMU_WGMMA_M; m += product->mn_major_a ? 8 : 1) {
        emu_thread *warp = group + m / 16 * 32;
        for (int k = 0; k < k_end; k += product->mn_major_a ? 1 : 16 / type->element_bytes)
            if (product->mn_major_a)
                read_chunk(warp, index, &from, tsr_emu_descriptor_at_mn_major(&from, (unsigned)m, (unsigned)k), type->a,
                           (target){a, m * k_end + k, k_end});
            else
                read_chunk(warp, index, &from,
                           tsr_emu_descriptor_at(&from, (unsigned)m, (unsigned)(k * type->element_bytes)), type->a,
                           (target){a, m * k_end + k, 1});
    }
}

/* The same from registers: register j of a thread has 4 bytes of row lane / 4 + 8 (j % 2), from byte 4 (lane % 4) + 16
 * (j / 2) of its 32 on (PTX ISA, "Register fragments for wgmma"). */
static void read_register_a(const emu_thread *group, unsigned index, int k_end, float *a)
{
    for (int t = 0; t < EMU_GROUP_THREADS; t++) {
        const emu_product *product = &group[t].hopper->products[index];
        const emu_wgmma_type *type = &tsr_emu_wgmma_types[product->type];
        const int count = 4 / type->element_bytes;
        for (int j = 0; j < 4; j++) {
            const int row = t / 32 * 16 + t % 32 / 4 + j % 2 * 8, byte = t % 4 * 4 + j / 2 * 16;
            put_elements((const unsigned char *)&product->registers[j], count, type->a, type->element_bytes,
                         (target){a, row * k_end + byte / type->element_bytes, 1});
        }
    }
}

/* B as b[k][256]. Every warp reads all of it; each in turn stands for the others, since A tells them apart. */
static void read_b(emu_thread *group, unsigned index, int k_end, float *b)
{
    const emu_product *product = &group->hopper->products[index];
    const emu_wgmma_type *type = &tsr_emu_wgmma_types[product->type];
    const emu_descriptor from = tsr_emu_descriptor(product->b);
    unsigned turn = 0;
    for (int n = 0; n < product->n; n += product->mn_major_b ? 8 : 1)
        for (int k = 0; k < k_end; k += product->mn_major_b ? 1 : 16 / type->element_bytes) {
            emu_thread *warp = group + turn++ / 16 % 4 * 32;
            if (product->mn_major_b)
                read_chunk(warp, index, &from, tsr_emu_descriptor_at_mn_major(&from, (unsigned)n, (unsigned)k), type->b,
                           (target){b, k * EMU_WGMMA_MAX_N + n, 1});
            else
                read_chunk(warp, index, &from,
                           tsr_emu_descriptor_at(&from, (unsigned)n, (unsigned)(k * type->element_bytes)), type->b,
                           (target){b, k * EMU_WGMMA_MAX_N + n, EMU_WGMMA_MAX_N});
        }
}

/* ---- a warp group's work ---- */

static float *tile_of(const emu_group *group, unsigned tile)
{
    return group->work->tiles[tile];
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
            a->values[i] = sum[row * EMU_WGMMA_MAX_N + column];
        }
        pack(a->registers, a->values, a->n, a->is_f16);
        a->registers = NULL;
        hopper->is_wgmma_fenced = 0;
    }
    group->loaded[tile] = 0;
}

static int same_product(const emu_product *x, const emu_product *y)
{
    return x->a == y->a && x->b == y->b && x->n == y->n && x->accumulate == y->accumulate && x->group == y->group &&
           x->mn_major_a == y->mn_major_a && x->mn_major_b == y->mn_major_b && x->type == y->type &&
           x->a_in_registers == y->a_in_registers && x->is_sparse == y->is_sparse && x->selector == y->selector &&
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

static void check_descriptors(const emu_product *product)
{
    const emu_descriptor left = tsr_emu_descriptor(product->a), right = tsr_emu_descriptor(product->b);
    const char *fault = product->a_in_registers ? NULL : tsr_emu_descriptor_fault(&left);
    fault = fault ? fault : tsr_emu_descriptor_fault(&right);
    if (fault)
        tsr_emu_break(fault, product->place);
}

/* The four bits of metadata of a group of neighbours along K in a row of A. */
static unsigned kept_indices(const emu_thread *threads, unsigned index, unsigned row, unsigned group)
{
    const emu_product *product = &threads[0].hopper->products[index];
    unsigned bit;
    const unsigned thread =
        tsr_emu_metadata_place(row, group, tsr_emu_wgmma_types[product->type].element_bytes, product->selector, &bit);
    const unsigned indices = threads[thread].hopper->products[index].registers[0] >> bit & 15;
    if ((indices & 3) >= indices >> 2)
        tsr_emu_break("wgmma.sp: the two indices of a group of metadata do not ascend", product->place);
    return indices;
}

/* wgmma.sp: each row of A multiplies other rows of B, half of them. */
static void add_sparse(struct emu_tensor_work *work, const emu_thread *threads, unsigned index, int k, float *sum)
{
    const emu_product *product = &threads[0].hopper->products[index];
    const emu_wgmma_type *type = &tsr_emu_wgmma_types[product->type];
    const int is_tf32 = type->element_bytes == 4;
    for (int row = 0; row < EMU_WGMMA_M; row++) {
        for (int i = 0; i < k; i++) {
            const unsigned indices = kept_indices(threads, index, (unsigned)row, (unsigned)(is_tf32 ? i : i / 2));
            const int from = is_tf32 ? 2 * i + (indices == 14) : i / 2 * 4 + (int)(indices >> i % 2 * 2 & 3);
            if (is_tf32 && indices != 4 && indices != 14)
                tsr_emu_break("wgmma.sp: metadata of tf32 is neither 0100 nor 1110", product->place);
            memcpy(work->b_kept + i * EMU_WGMMA_MAX_N, work->b_values + from * EMU_WGMMA_MAX_N,
                   (size_t)product->n * sizeof *work->b_kept);
        }
        const emu_factor a = {work->a_values + row * k, work->a_exponents, type->a},
                         b = {work->b_kept, work->b_exponents, type->b};
        tsr_emu_tensor_add(sum + row * EMU_WGMMA_MAX_N, EMU_WGMMA_MAX_N, &a, &b, EMU_WGMMA_MAX_N, 1, product->n, k,
                           type->to_f16);
    }
}

/* Of the group's oldest `count` products. */
static void execute(emu_group *group, emu_thread *threads, unsigned count)
{
    struct emu_tensor_work *work = group->work;
    const emu_product *last = NULL;
    for (unsigned i = 0; i < count; i++) {
        const emu_product *product = &threads[0].hopper->products[i];
        const emu_wgmma_type *type = &tsr_emu_wgmma_types[product->type];
        const int k = EMU_WGMMA_K_BYTES / type->element_bytes;
        check_descriptors(product);
        if (!group->loaded[product->tile])
            load_tile(group, threads, product->tile);
        float *sum = tile_of(group, product->tile);
        if (!product->accumulate)
            memset(sum, 0, TILE_FLOATS * sizeof *sum);
        if (product->a_in_registers)
            read_register_a(threads, i, k, work->a_values);
        else
            read_a(threads, i, k, work->a_values);
        if (!last || last->b != product->b || last->mn_major_b != product->mn_major_b || last->n != product->n ||
            last->type != product->type || last->is_sparse != product->is_sparse)
            read_b(threads, i, product_k(product), work->b_values);
        last = product;
        if (product->is_sparse) {
            add_sparse(work, threads, i, k, sum);
            continue;
        }
        const emu_factor a = {work->a_values, work->a_exponents, type->a},
                         b = {work->b_values, work->b_exponents, type->b};
        tsr_emu_tensor_add(sum, EMU_WGMMA_MAX_N, &a, &b, EMU_WGMMA_MAX_N, EMU_WGMMA_M, product->n, k, type->to_f16);
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
            tsr_emu_no_memory();
    for (unsigned lane = 0; lane < 32; lane++)
        tsr_emu_clock_adopt(time, &warp[lane].clock, board);
    tsr_emu_seen_drop(time, board);
}

static void finish_products(emu_thread *self, emu_group *group, unsigned count)
{
    emu_thread *threads = tsr_emu_group_threads(self);
    if (!group->work)
        group->work = tsr_alloc(self->cta->shape.allocator, 64, sizeof *group->work);
    if (!group->work)
        tsr_emu_no_memory();
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

/* The thread has waited for its first `count` batches. */
static void tell_finished(const emu_thread *self, unsigned count, const void *place)
{
    if (self->cta->listener)
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_FINISH, .other = self->rank, .number = count, .place = place});
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
    const unsigned finished = hopper->products_committed - (unsigned)pending;
    if (++group->arrived < EMU_GROUP_THREADS) {
        tsr_emu_wait_in(self, &group->waiting, place);
        tell_finished(self, finished, place);
        return;
    }
    group->arrived = 0;
    finish_products(self, group, ready);
    tsr_emu_wake_all(&group->waiting);
    tell_finished(self, finished, place);
}

void tsr_emu_products_end(emu_thread *thread)
{
    if (thread->hopper->n_products)
        tsr_emu_break("a thread ends before its wgmma products are waited for", thread->hopper->products[0].place);
}
