/* The bulk copy engine: boxes of matrices between global and shared memory, of up to five dimensions and with any
 * swizzle. A load is delivered when a thread waits at its mbarrier. A store reads shared memory when its thread waits
 * for that, and writes global memory when it waits for that or ends. */
#include <string.h>

#include "emu/emulated_machine.h"

#define MAP_MAGIC 0x70616d2072736574ull

/* What the emulator keeps in a map's bytes. */
typedef struct emu_map {
    unsigned long long magic;
    tsr_tensor_spec spec;
} emu_map;
_Static_assert(sizeof(emu_map) <= sizeof(tsr_tensor_map), "a map's bytes");

void tsr_emu_encode(const tsr_tensor_spec *spec, tsr_tensor_map *out)
{
    const emu_map map = {MAP_MAGIC, *spec};
    memset(out, 0, sizeof *out);
    memcpy(out, &map, sizeof map);
}

static tsr_tensor_spec spec_of(const void *pointer, int rank, const void *place)
{
    emu_map map;
    memcpy(&map, pointer, sizeof map);
    if (map.magic != MAP_MAGIC)
        tsr_emu_break("a bulk copy by a tensor map that was never made", place);
    if (map.spec.rank != rank)
        tsr_emu_break("a bulk copy by a tensor map of another rank", place);
    return map.spec;
}

/* Of a box: its rows along x, one after another in shared memory. */
static size_t row_bytes(const tsr_tensor_spec *spec)
{
    return (size_t)spec->box[0] * tsr_dtype_bytes(spec->dtype);
}

static int row_count(const tsr_tensor_spec *spec)
{
    int rows = 1;
    for (int i = 1; i < spec->rank; i++)
        rows *= spec->box[i];
    return rows;
}

static size_t box_bytes(const tsr_tensor_spec *spec)
{
    return row_bytes(spec) * (size_t)row_count(spec);
}

/* The part of a box's row that lies inside the tensor. */
typedef struct row_part {
    uintptr_t address; /* in global memory */
    size_t skip;       /* bytes of the row before it */
    size_t bytes;      /* 0: nothing */
} row_part;

/* Stores end at multiples of 16 bytes, not at elements. */
static row_part box_row(const tsr_tensor_spec *spec, const long long at[TSR_TENSOR_MOST_RANK], int row, int is_store)
{
    const long long element = (long long)tsr_dtype_bytes(spec->dtype);
    const long long skip = at[0] < 0 ? -at[0] : 0, end = at[0] + spec->box[0];
    uintptr_t address = (uintptr_t)spec->base + (uintptr_t)((at[0] + skip) * element);
    for (int i = 1; i < spec->rank; i++) {
        const long long index = at[i] + row % spec->box[i];
        row /= spec->box[i];
        if (index < 0 || index >= spec->dims[i])
            return (row_part){0};
        address += (uintptr_t)(index * spec->strides_bytes[i - 1]);
    }
    long long bytes = ((end < spec->dims[0] ? end : spec->dims[0]) - at[0] - skip) * element;
    if (bytes <= 0)
        return (row_part){0};
    if (is_store && end > spec->dims[0])
        bytes = (bytes + TSR_TENSOR_ALIGN_BYTES - 1) / TSR_TENSOR_ALIGN_BYTES * TSR_TENSOR_ALIGN_BYTES;
    return (row_part){address, (size_t)(skip * element), (size_t)bytes};
}

/* Where the byte at `offset` of a box lies in the slot's shared memory. */
static unsigned char *box_byte(emu_cta *cta, const tsr_tensor_spec *spec, size_t box_at, size_t offset)
{
    const unsigned span = spec->swizzle_bytes ? (unsigned)spec->swizzle_bytes : 16;
    return cta->shared.bytes + tsr_emu_swizzle(box_at + offset, span);
}

/* What lies between A's rows must not be used: it is NaN in all types. */
static void copy_with_gaps(const emu_global *global, unsigned char *to, const unsigned char *from, size_t bytes,
                           size_t element)
{
    for (size_t i = 0; i < bytes; i += element)
        if (tsr_emu_global_is_of_a(global, (uintptr_t)(from + i)) > 0)
            memcpy(to + i, from + i, element);
        else
            memset(to + i, 0xff, element);
}

void tsr_emu_deliver(emu_cta *cta, emu_load *load)
{
    const emu_global *const global = &cta->worker->global;
    const size_t width = row_bytes(&load->spec);
    for (int y = 0; y < row_count(&load->spec); y++) {
        const row_part part = box_row(&load->spec, load->at, y, 0);
        const unsigned char *from = (const unsigned char *)part.address;
        for (size_t i = 0; i < width; i += 16) {
            unsigned char chunk[16] = {0};
            const size_t first = i > part.skip ? i : part.skip;
            const size_t end = i + 16 < part.skip + part.bytes ? i + 16 : part.skip + part.bytes;
            if (first < end && load->spec.has_gaps)
                copy_with_gaps(global, chunk + (first - i), from + (first - part.skip), end - first,
                               tsr_dtype_bytes(load->spec.dtype));
            else if (first < end)
                memcpy(chunk + (first - i), from + (first - part.skip), end - first);
            memcpy(box_byte(cta, &load->spec, load->to, (size_t)y * width + i), chunk, sizeof chunk);
        }
    }
    tsr_emu_shared_land_async(&cta->shared, load->to, load->bytes, load->stamp);
}

emu_load *tsr_emu_add_load(emu_cta *cta, emu_mbarrier *bar)
{
    emu_load *load = cta->hopper->free_loads;
    if (load)
        cta->hopper->free_loads = load->next;
    else
        load = tsr_alloc(cta->worker->launch->job->allocator, 64, sizeof *load);
    if (!load)
        tsr_emu_no_memory();
    *load = (emu_load){.next = bar->loads};
    bar->loads = load;
    tsr_emu_wake_all(&bar->waiting);
    return load;
}

emu_mbarrier *tsr_emu_engine_mbarrier(emu_cta *cta, size_t bar_at, const void *place)
{
    emu_mbarrier *bar = tsr_emu_find_mbarrier(cta, bar_at);
    if (!bar || !bar->is_fenced)
        tsr_emu_break("a bulk load's mbarrier was not initialised, or without fence.mbarrier_init", place);
    return bar;
}

/* To one CTA: its bytes are in flight from now on. */
static void start_load(emu_thread *self, const tsr_tensor_spec *spec, const long long at[TSR_TENSOR_MOST_RANK],
                       size_t to, size_t bar_at, emu_stamp stamp, emu_seen *seen, const void *place)
{
    emu_cta *cta = self->cta;
    emu_fault fault = {0};
    emu_mbarrier *bar = tsr_emu_engine_mbarrier(cta, bar_at, place);
    if (!tsr_emu_shared_start_async(&cta->shared, to, box_bytes(spec), &self->clock, cta->hopper->fences, &fault)) {
        fault.is_write = 1;
        fault.size = box_bytes(spec);
        tsr_emu_fail_thread(&fault, place);
    }
    emu_load *load = tsr_emu_add_load(cta, bar);
    load->spec = *spec;
    memcpy(load->at, at, sizeof load->at);
    load->place = place;
    load->to = to;
    load->bytes = box_bytes(spec);
    load->stamp = stamp;
    load->seen = seen;
    seen->references++;
}

/* A row of a box may be read; of one with gaps, its elements of A may, and nothing else lies there but gaps. */
static void check_load(emu_thread *self, const tsr_tensor_spec *spec, const row_part *part, const void *place)
{
    const emu_global *const global = &self->cta->worker->global;
    const size_t element = tsr_dtype_bytes(spec->dtype);
    if (!spec->has_gaps) {
        tsr_emu_check((const void *)part->address, part->bytes, 0, place);
        return;
    }
    for (size_t i = 0; i < part->bytes; i += element)
        if (tsr_emu_global_is_of_a(global, part->address + i) != 0)
            tsr_emu_check((const void *)(part->address + i), element, 0, place);
}

void tsr_emu_start_loads(emu_thread *self, const tsr_tensor_spec *spec, const long long at[TSR_TENSOR_MOST_RANK],
                         unsigned to, unsigned bar, unsigned mask, const void *place)
{
    const emu_launch *launch = self->cta->worker->launch;
    const size_t to_at = tsr_emu_place_in_slot(self, to, box_bytes(spec), place) - self->window;
    const size_t bar_at = tsr_emu_place_in_slot(self, bar, 8, place) - self->window;
    if (mask >> launch->shape.cluster)
        tsr_emu_break("a multicast to a CTA that the cluster does not have", place);
    const uint64_t served = mask ? (uint64_t)__builtin_popcount(mask) : 1;
    for (int row = 0; row < row_count(spec); row++) {
        const row_part part = box_row(spec, at, row, 0);
        if (!part.bytes)
            continue;
        check_load(self, spec, &part, place);
        tsr_emu_watch_put(self, TSR_WATCH_BULK_LOAD, part.bytes, served << 56 | (uint64_t)part.address, place);
    }
    if (self->cta->listener)
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_BOX,
                                       .other = self->rank,
                                       .at = to_at,
                                       .mbarrier = bar_at,
                                       .bytes = box_bytes(spec),
                                       .box = spec,
                                       .box_at = at,
                                       .multicast = mask,
                                       .place = place});
    const emu_stamp stamp = self->clock.stamp;
    emu_seen *seen = NULL;
    tsr_emu_release(self, &seen);
    for (unsigned cta = 0; cta < launch->shape.cluster; cta++)
        if (mask ? mask >> cta & 1 : cta == self->rank)
            start_load(self, spec, at, cta * launch->shape.window_stride + to_at,
                       cta * launch->shape.window_stride + bar_at, stamp, seen, place);
    tsr_emu_seen_drop(&self->cta->shared.time, seen);
}

/* Where a box may lie. An H200 calls one that begins between multiples of 16 bytes an illegal instruction. */
static void require_aligned_box(const tsr_tensor_spec *spec, unsigned address, int x, const void *place)
{
    if (address % 128)
        tsr_emu_break("a bulk copy's shared memory must be aligned to 128 bytes", place);
    if (x * (long long)tsr_dtype_bytes(spec->dtype) % TSR_TENSOR_ALIGN_BYTES)
        tsr_emu_break("a bulk copy's box must begin at a multiple of 16 bytes along x", place);
}

void tsr_emu_tma_load(unsigned to, const void *map, unsigned bar, int rank, int x, int y, int z, int w, int v,
                      unsigned mask)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    const tsr_tensor_spec spec = spec_of(map, rank, place);
    const long long at[TSR_TENSOR_MOST_RANK] = {x, y, z, w, v};
    require_aligned_box(&spec, to, x, place);
    tsr_emu_start_loads(self, &spec, at, to, bar, mask, place);
}

void tsr_emu_tma_prefetch_map(const void *map)
{
    (void)map;
}

void tsr_emu_tma_prefetch(const void *map, int rank)
{
    const void *place = __builtin_return_address(0);
    tsr_emu_hopper_self(place);
    (void)spec_of(map, rank, place);
}

/* ---- stores ---- */

static void drop_store(emu_thread *thread, emu_store *store)
{
    tsr_emu_drop_moment(thread->cta, &store->moment);
    tsr_free(thread->cta->shape.allocator, store->held);
    store->held = NULL;
}

/* The box leaves shared memory, which must be as it was when the thread asked. */
static void read_store(emu_thread *self, emu_store *store)
{
    emu_cta *cta = self->cta;
    const size_t bytes = box_bytes(&store->spec);
    emu_fault fault = {0};
    if (!tsr_emu_shared_unchanged(&cta->shared, store->from, bytes, &store->moment.clock, store->moment.floor,
                                  &fault) ||
        !tsr_emu_shared_read(&cta->shared, store->from, bytes, &self->clock, &fault)) {
        fault.size = bytes;
        tsr_emu_fail_thread(&fault, store->place);
    }
    store->held = tsr_alloc(cta->shape.allocator, 64, bytes);
    if (!store->held)
        tsr_emu_no_memory();
    for (size_t i = 0; i < bytes; i += 16)
        memcpy(store->held + i, box_byte(cta, &store->spec, store->from, i), 16);
    tsr_emu_drop_moment(cta, &store->moment);
}

static void reduce_row(emu_thread *self, const emu_store *store, const row_part *part, const unsigned char *from)
{
    pthread_mutex_t *lock = &self->cta->worker->launch->atomics.lock;
    tsr_emu_check_reduction((const void *)part->address, part->bytes, store->place);
    pthread_mutex_lock(lock);
    tsr_emu_reduce((void *)part->address, from, part->bytes, store->combine.operation, store->combine.type);
    pthread_mutex_unlock(lock);
}

/* The box, which has been read, arrives in global memory. */
static void write_store(emu_thread *self, emu_store *store)
{
    const size_t width = row_bytes(&store->spec);
    for (int y = 0; y < row_count(&store->spec); y++) {
        const row_part part = box_row(&store->spec, store->at, y, !store->combine.is_reduction);
        const unsigned char *from = store->held + (size_t)y * width + part.skip;
        if (!part.bytes)
            continue;
        tsr_emu_watch_put(self, TSR_WATCH_BULK_STORE, part.bytes, (uint64_t)part.address, store->place);
        if (store->combine.is_reduction) {
            reduce_row(self, store, &part, from);
        } else {
            tsr_emu_check((const void *)part.address, part.bytes, 1, store->place);
            memcpy((void *)part.address, from, part.bytes);
        }
    }
    drop_store(self, store);
}

static void forget_first(emu_thread_hopper *hopper, unsigned count)
{
    hopper->n_stores -= count;
    memmove(hopper->stores, hopper->stores + count, hopper->n_stores * sizeof *hopper->stores);
}

void tsr_emu_start_store(emu_thread *self, const tsr_tensor_spec *spec, const long long at[TSR_TENSOR_MOST_RANK],
                         unsigned from, emu_combine combine, const void *place)
{
    emu_thread_hopper *hopper = self->hopper;
    emu_fault fault = {0};
    if (hopper->n_stores == EMU_STORES && hopper->stores[0].held) {
        write_store(self, &hopper->stores[0]);
        forget_first(hopper, 1);
    }
    for (int i = 0; i < spec->rank; i++)
        if (at[i] < 0) /* an H200 calls it an illegal instruction, of loads not */
            tsr_emu_break("a bulk store's or reduction's box must not begin before its tensor", place);
    if (hopper->n_stores == EMU_STORES)
        tsr_emu_break("the emulator keeps at most 16 bulk stores of a thread", place);
    const size_t from_at = tsr_emu_place_in_slot(self, from, box_bytes(spec), place);
    if (!tsr_emu_shared_read_async(&self->cta->shared, from_at, box_bytes(spec), &self->clock,
                                   self->cta->hopper->fences, &fault)) {
        fault.size = box_bytes(spec);
        tsr_emu_fail_thread(&fault, place);
    }
    if (self->cta->listener)
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_STORE,
                                       .other = self->rank,
                                       .at = from_at - self->window,
                                       .bytes = box_bytes(spec),
                                       .box = spec,
                                       .box_at = at,
                                       .is_reduction = combine.is_reduction,
                                       .place = place});
    emu_store *store = &hopper->stores[hopper->n_stores++];
    *store = (emu_store){.spec = *spec,
                         .from = from_at,
                         .place = place,
                         .moment = tsr_emu_moment(self),
                         .combine = combine,
                         .group = hopper->stores_committed};
    memcpy(store->at, at, sizeof store->at);
}

void tsr_emu_tma_store(const void *map, unsigned from, int rank, int x, int y, int z, int w, int v)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    const tsr_tensor_spec spec = spec_of(map, rank, place);
    const long long at[TSR_TENSOR_MOST_RANK] = {x, y, z, w, v};
    require_aligned_box(&spec, from, x, place);
    tsr_emu_start_store(self, &spec, at, from, (emu_combine){0}, place);
}

static emu_number number_of(const tsr_tensor_spec *spec, const void *place)
{
    switch (spec->dtype) {
    case TSR_F64:
        return EMU_NUMBER_F64;
    case TSR_F32:
        return EMU_NUMBER_F32;
    case TSR_F16:
        return EMU_NUMBER_F16;
    case TSR_BF16:
        return EMU_NUMBER_BF16;
    case TSR_S32:
        return spec->is_unsigned ? EMU_NUMBER_U32 : EMU_NUMBER_S32;
    default:
        tsr_emu_break("a reduction by a tensor map of elements that cannot be reduced", place);
    }
}

void tsr_emu_tma_reduce(const void *map, unsigned from, int rank, int x, int y, int z, int w, int v, int operation)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    const tsr_tensor_spec spec = spec_of(map, rank, place);
    const long long at[TSR_TENSOR_MOST_RANK] = {x, y, z, w, v};
    const emu_combine combine = {1, (tsr_reduction_operation)operation, number_of(&spec, place)};
    if (!tsr_emu_may_reduce(combine.operation, combine.type))
        tsr_emu_break("a reduction that the tensor map's element type does not have", place);
    require_aligned_box(&spec, from, x, place);
    tsr_emu_start_store(self, &spec, at, from, combine, place);
}

void tsr_emu_tma_commit(void)
{
    tsr_emu_hopper_self(__builtin_return_address(0))->hopper->stores_committed++;
}

void tsr_emu_tma_wait(int pending, int read_only)
{
    emu_thread *self = tsr_emu_hopper_self(__builtin_return_address(0));
    emu_thread_hopper *hopper = self->hopper;
    unsigned done = 0;
    for (; done < hopper->n_stores && hopper->stores[done].group + (unsigned)pending < hopper->stores_committed;
         done++) {
        if (!hopper->stores[done].held)
            read_store(self, &hopper->stores[done]);
        if (!read_only)
            write_store(self, &hopper->stores[done]);
    }
    if (!read_only)
        forget_first(hopper, done);
    if (self->cta->listener)
        tsr_emu_tell(self, (tsr_event){.kind = TSR_EVENT_STORED,
                                       .other = self->rank,
                                       .number = (unsigned)pending,
                                       .place = __builtin_return_address(0)});
}

void tsr_emu_stores_end(emu_thread *thread)
{
    emu_thread_hopper *hopper = thread->hopper;
    for (unsigned i = 0; i < hopper->n_stores; i++) {
        if (!hopper->stores[i].held)
            tsr_emu_break("a thread ends before its bulk stores have read shared memory", hopper->stores[i].place);
        write_store(thread, &hopper->stores[i]);
    }
    hopper->n_stores = 0;
}

void tsr_emu_stores_forget(emu_thread *thread)
{
    for (unsigned i = 0; i < thread->hopper->n_stores; i++)
        drop_store(thread, &thread->hopper->stores[i]);
    thread->hopper->n_stores = 0;
}
