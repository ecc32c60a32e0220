/* The bulk copy engine: boxes of matrices between global and shared memory, of up to five dimensions and with any
 * swizzle. A load is delivered when a thread waits at its mbarrier; a store reads shared memory when its thread waits
 * for that. */
#include <string.h>

#include "emu/machine.h"

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

void tsr_emu_deliver(emu_cta *cta, const emu_load *load)
{
    const size_t width = row_bytes(&load->spec);
    for (int y = 0; y < row_count(&load->spec); y++) {
        const row_part part = box_row(&load->spec, load->at, y, 0);
        const unsigned char *from = (const unsigned char *)part.address;
        for (size_t i = 0; i < width; i += 16) {
            unsigned char chunk[16] = {0};
            const size_t first = i > part.skip ? i : part.skip;
            const size_t end = i + 16 < part.skip + part.bytes ? i + 16 : part.skip + part.bytes;
            if (first < end)
                memcpy(chunk + (first - i), from + (first - part.skip), end - first);
            memcpy(box_byte(cta, &load->spec, load->to, (size_t)y * width + i), chunk, sizeof chunk);
        }
    }
    tsr_emu_shared_land_async(&cta->shared, load->to, load->bytes, load->stamp);
}

static emu_load *new_load(emu_cta *cta)
{
    emu_load *load = cta->hopper->free_loads;
    if (load)
        cta->hopper->free_loads = load->next;
    else
        load = tsr_alloc(cta->worker->launch->job->allocator, 64, sizeof *load);
    if (!load)
        tsr_emu_misuse("the emulator ran out of memory");
    return load;
}

/* To one CTA: its bytes are in flight from now on. */
static void start_load(emu_thread *self, const tsr_tensor_spec *spec, const long long at[TSR_TENSOR_MOST_RANK],
                       size_t to, size_t bar_at, emu_stamp stamp, emu_seen *seen, const void *place)
{
    emu_cta *cta = self->cta;
    emu_fault fault = {0};
    emu_mbarrier *bar = tsr_emu_find_mbarrier(cta, bar_at);
    if (!bar || !bar->is_fenced)
        tsr_emu_break("a bulk load's mbarrier was not initialised, or without fence.mbarrier_init", place);
    if (!tsr_emu_shared_start_copy(&cta->shared, to, box_bytes(spec), &self->clock, &fault)) {
        fault.is_write = 1;
        fault.size = box_bytes(spec);
        tsr_emu_fail_thread(&fault, place);
    }
    emu_load *load = new_load(cta);
    *load = (emu_load){.next = bar->loads,
                       .spec = *spec,
                       .at = {at[0], at[1], at[2], at[3], at[4]},
                       .to = to,
                       .bytes = box_bytes(spec),
                       .stamp = stamp,
                       .seen = seen};
    seen->references++;
    bar->loads = load;
    tsr_emu_wake_all(&bar->waiting);
}

void tsr_emu_tma_load(unsigned to, const void *map, unsigned bar, int rank, int x, int y, int z, int w, int v,
                      unsigned mask)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    const emu_launch *launch = self->cta->worker->launch;
    const tsr_tensor_spec spec = spec_of(map, rank, place);
    const long long at[TSR_TENSOR_MOST_RANK] = {x, y, z, w, v};
    const size_t to_at = tsr_emu_place_in_slot(self, to, box_bytes(&spec), place) - self->window;
    const size_t bar_at = tsr_emu_place_in_slot(self, bar, 8, place) - self->window;
    if (to % 128)
        tsr_emu_break("a bulk copy's shared memory must be aligned to 128 bytes", place);
    if (mask >> launch->shape.cluster)
        tsr_emu_break("a multicast to a CTA that the cluster does not have", place);
    const uint64_t served = mask ? (uint64_t)__builtin_popcount(mask) : 1;
    for (int row = 0; row < row_count(&spec); row++) {
        const row_part part = box_row(&spec, at, row, 0);
        if (!part.bytes)
            continue;
        tsr_emu_check((const void *)part.address, part.bytes, 0, place);
        tsr_emu_watch_put(self, TSR_WATCH_BULK_LOAD, part.bytes, served << 56 | (uint64_t)part.address, place);
    }
    const emu_stamp stamp = self->clock.stamp;
    emu_seen *seen = NULL;
    tsr_emu_release(self, &seen);
    for (unsigned cta = 0; cta < launch->shape.cluster; cta++)
        if (mask ? mask >> cta & 1 : cta == self->rank)
            start_load(self, &spec, at, cta * launch->shape.window_stride + to_at,
                       cta * launch->shape.window_stride + bar_at, stamp, seen, place);
    tsr_emu_seen_drop(&self->cta->shared.time, seen);
}

void tsr_emu_tma_prefetch_map(const void *map)
{
    (void)map;
}

/* What the thread had seen when it asked, with its present clock: by that the late read is judged. */
static emu_clock clock_then(const emu_thread *self, emu_seen *seen)
{
    return (emu_clock){.stamp = self->clock.stamp, .seen = seen};
}

void tsr_emu_tma_store(const void *map, unsigned from, int rank, int x, int y, int z, int w, int v)
{
    const void *place = __builtin_return_address(0);
    emu_thread *self = tsr_emu_hopper_self(place);
    emu_thread_hopper *hopper = self->hopper;
    emu_fault fault = {0};
    if (hopper->n_stores == EMU_STORES)
        tsr_emu_break("the emulator keeps at most 16 bulk stores of a thread", place);
    emu_store *store = &hopper->stores[hopper->n_stores];
    store->spec = spec_of(map, rank, place);
    const int at[TSR_TENSOR_MOST_RANK] = {x, y, z, w, v};
    for (int i = 0; i < TSR_TENSOR_MOST_RANK; i++)
        store->at[i] = at[i];
    store->from = tsr_emu_place_in_slot(self, from, box_bytes(&store->spec), place);
    store->place = place;
    store->group = hopper->stores_committed;
    store->seen = self->clock.seen;
    if (from % 128)
        tsr_emu_break("a bulk copy's shared memory must be aligned to 128 bytes", place);
    if (!tsr_emu_shared_read_async(&self->cta->shared, store->from, box_bytes(&store->spec), &self->clock,
                                   self->cta->hopper->fences, &fault)) {
        fault.size = box_bytes(&store->spec);
        tsr_emu_fail_thread(&fault, place);
    }
    if (store->seen)
        store->seen->references++;
    hopper->n_stores++;
}

void tsr_emu_tma_commit(void)
{
    tsr_emu_hopper_self(__builtin_return_address(0))->hopper->stores_committed++;
}

static void finish_store(emu_thread *self, emu_store *store)
{
    emu_cta *cta = self->cta;
    const emu_clock clock = clock_then(self, store->seen);
    emu_fault fault = {0};
    if (!tsr_emu_shared_read(&cta->shared, store->from, box_bytes(&store->spec), &clock, &fault)) {
        fault.size = box_bytes(&store->spec);
        tsr_emu_fail_thread(&fault, store->place);
    }
    const size_t width = row_bytes(&store->spec);
    for (int y = 0; y < row_count(&store->spec); y++) {
        const row_part part = box_row(&store->spec, store->at, y, 1);
        if (!part.bytes)
            continue;
        tsr_emu_check((const void *)part.address, part.bytes, 1, store->place);
        tsr_emu_watch_put(self, TSR_WATCH_BULK_STORE, part.bytes, (uint64_t)part.address, store->place);
        unsigned char *to = (unsigned char *)part.address;
        for (size_t i = part.skip, end = part.skip + part.bytes; i < end;) {
            const size_t rest = 16 - i % 16, count = end - i < rest ? end - i : rest;
            memcpy(to + (i - part.skip),
                   box_byte(cta, &store->spec, store->from, (size_t)y * width + i - i % 16) + i % 16, count);
            i += count;
        }
    }
    tsr_emu_seen_drop(&cta->shared.time, store->seen);
    store->seen = NULL;
}

void tsr_emu_tma_wait(int pending, int read_only)
{
    emu_thread *self = tsr_emu_hopper_self(__builtin_return_address(0));
    emu_thread_hopper *hopper = self->hopper;
    unsigned done = 0;
    (void)read_only; /* writing to global memory ends at once */
    while (done < hopper->n_stores && hopper->stores[done].group + (unsigned)pending < hopper->stores_committed)
        finish_store(self, &hopper->stores[done++]);
    hopper->n_stores -= done;
    memmove(hopper->stores, hopper->stores + done, hopper->n_stores * sizeof *hopper->stores);
}

void tsr_emu_stores_end(emu_thread *thread)
{
    if (thread->hopper->n_stores)
        tsr_emu_break("a thread ends before its bulk stores have read shared memory", thread->hopper->stores[0].place);
}
