#include "lab/predict/count_cta.h"

/* ---- shared memory ---- */

static void add_passes(lab_shared_traffic *to, const lab_shared_traffic *from, double scale)
{
    to->requests += scale * from->requests;
    to->wavefronts += scale * from->wavefronts;
    to->conflicts += scale * from->conflicts;
    to->bytes += scale * from->bytes;
}

/* Adds one request, and returns it. */
static lab_shared_traffic add_shared(lab_cta_count *count, lab_shared_traffic *to, const uint64_t *offset,
                                     uint32_t lanes, unsigned bytes)
{
    const lab_wavefronts passes = lab_warp_wavefronts(offset, lanes, bytes, &count->banks);
    const lab_shared_traffic one = {.requests = 1,
                                    .wavefronts = passes.count,
                                    .conflicts = passes.count > passes.ideal ? passes.count - passes.ideal : 0,
                                    .bytes = (double)bytes * __builtin_popcount(lanes)};
    add_passes(to, &one, 1);
    return one;
}

static void issue_joined(lab_cta_count *count, lab_joined *joined)
{
    if (!joined->place)
        return;
    /* 12 bytes are not one load. */
    for (unsigned bytes = joined->bytes == 12 ? 8 : joined->bytes; bytes;) {
        const lab_shared_traffic one =
            add_shared(count, &count->sum.shared_load_merged, joined->offset, joined->lanes, bytes);
        if (bytes <= 4)
            add_passes(&count->sum.shared_load_narrow, &one, 1);
        joined->bytes -= bytes;
        for (unsigned lane = 0; lane < 32; lane++)
            joined->offset[lane] += bytes;
        bytes = joined->bytes;
    }
    joined->place = NULL;
}

static void issue_all(lab_cta_count *count)
{
    for (unsigned i = 0; i < LAB_JOINED; i++)
        issue_joined(count, &count->joined[i]);
}

static int continues(const lab_joined *joined, const tsr_watch_event *event)
{
    if (joined->place != event->place || joined->lanes != event->lanes ||
        joined->bytes + event->bytes > joined->most_bytes)
        return 0;
    for (uint32_t rest = event->lanes; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (event->address[lane] != joined->offset[lane] + joined->bytes)
            return 0;
    }
    return 1;
}

static void begin_joined(lab_joined *joined, const tsr_watch_event *event)
{
    uint64_t bits = 16;
    *joined = (lab_joined){.place = event->place, .lanes = event->lanes, .bytes = event->bytes};
    for (uint32_t rest = event->lanes; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        joined->offset[lane] = event->address[lane];
        bits |= event->address[lane];
    }
    joined->most_bytes = (unsigned)(bits & (~bits + 1));
}

/* Unrolled loops load neighbours one after another; where shared memory's layout makes the alignment sure, the
 * compiler loads up to 16 bytes at once. */
static void join(lab_cta_count *count, const tsr_watch_event *event)
{
    if (count->warp != event->warp || count->cta != event->cta) {
        issue_all(count);
        count->warp = event->warp;
        count->cta = event->cta;
    }
    const uint64_t group = event->address[__builtin_ctz(event->lanes)] / 16;
    lab_joined *joined = &count->joined[((uintptr_t)event->place + group) % LAB_JOINED];
    if (continues(joined, event)) {
        joined->bytes += event->bytes;
        if (joined->bytes >= joined->most_bytes)
            issue_joined(count, joined);
        return;
    }
    lab_joined *const fresh = &count->fresh;
    begin_joined(fresh, event);
    if (fresh->most_bytes <= fresh->bytes) {
        issue_joined(count, fresh); /* by its alignment, nothing can follow */
        return;
    }
    issue_joined(count, joined);
    *joined = *fresh;
}

/* ---- global memory ---- */

static unsigned add_global(lab_cta_count *count, lab_traffic *to, const tsr_watch_event *event)
{
    const unsigned sectors = lab_warp_sectors(event->address, event->lanes, event->bytes, count->sectors);
    to->requests++;
    to->sectors += sectors;
    to->lines += lab_sector_lines(count->sectors, sectors);
    for (uint32_t rest = event->lanes; rest; rest &= rest - 1)
        to->bytes += event->address[__builtin_ctz(rest)] ? event->bytes : 0;
    return sectors;
}

/* The same for what passes L1's front. */
static void add_to_l1(lab_cta_count *count, lab_traffic *to, const tsr_watch_event *event, lab_touch kind)
{
    const unsigned sectors = add_global(count, to, event), lanes = (unsigned)__builtin_popcount(event->lanes);
    const int is_shared = lanes > sectors, has_gaps = lanes * event->bytes < sectors * LAB_SECTOR_BYTES;
    if (kind == LAB_TOUCH_STORE && is_shared && has_gaps)
        kind = LAB_TOUCH_STORE_PART;
    if (count->stream)
        lab_stream_add(count->stream, event->warp, kind, count->sectors, sectors);
}

static void add_copy(lab_cta_count *count, const tsr_watch_event *event)
{
    const int past_l1 = event->bytes == 16;
    add_to_l1(count, &count->sum.copy, event, past_l1 ? LAB_TOUCH_PAST_L1 : LAB_TOUCH_COPY);
    if (past_l1) {
        const unsigned sectors = add_global(count, &count->sum.copy_past_l1, event);
        count->sum.copy_line_pairs += lab_sector_line_pairs(count->sectors, sectors);
    }
    /* What comes from one line is written in one go; what passes L1 by, all at once. */
    lab_shared_traffic *const to = &count->sum.copy_shared;
    const double requests = to->requests;
    for (uint32_t rest = event->lanes; rest && !past_l1;) {
        const uint64_t line = event->address[__builtin_ctz(rest)] / 128;
        uint32_t part = 0;
        for (uint32_t left = rest; left; left &= left - 1)
            if (event->address[__builtin_ctz(left)] / 128 == line)
                part |= left & -left;
        add_shared(count, to, event->shared, part, event->bytes);
        rest &= ~part;
    }
    to->requests = requests + 1;
    if (past_l1) {
        to->wavefronts++;
        to->bytes += (double)event->bytes * __builtin_popcount(event->lanes);
    }
}

static void add_bulk(lab_cta_count *count, lab_traffic *to, const tsr_watch_event *event)
{
    add_global(count, to, event);
    count->sum.bulk_shared_bytes +=
        event->kind == TSR_WATCH_BULK_LOAD ? (double)event->bytes * (double)event->amount : (double)event->bytes;
}

static void add_fma(lab_cta_count *count, const tsr_watch_event *event)
{
    double *const to = event->kind == TSR_WATCH_FMA_F32 ? &count->sum.fma_f32 : &count->sum.fma_f64;
    *to += (double)event->amount * __builtin_popcount(event->lanes);
    count->sum.warp_fma += (double)event->amount;
}

static void note_store(lab_cta_count *count, const tsr_watch_event *event)
{
    if (count->storing_warp != event->warp) {
        count->storing_warp = event->warp;
        count->warp_stores = 0;
    }
    count->warp_stores++;
    count->stores = count->warp_stores > count->stores ? count->warp_stores : count->stores;
}

static void note_load(lab_cta_count *count, const tsr_watch_event *event)
{
    if (count->loading_warp != event->warp) {
        count->loading_warp = event->warp;
        count->warp_loads = 0;
    }
    count->warp_loads++;
    count->loads = count->warp_loads > count->loads ? count->warp_loads : count->loads;
}

static void add_of_warp(lab_of_warp *of, unsigned warp, unsigned amount)
{
    if (of->warp != warp) {
        of->warp = warp;
        of->count = 0;
    }
    of->count += amount;
    of->most = of->count > of->most ? of->count : of->most;
}

/* The warp that did most; all start anew. */
static double take_most(lab_of_warp *of)
{
    const double most = of->most;
    of->count = of->most = 0;
    return most;
}

/* Conditions between this instruction and the one before. */
static unsigned branches_before(lab_cta_count *count, const tsr_watch_event *event)
{
    const unsigned long since = event->stretch - count->last_stretch;
    const int is_first = count->last_warp != event->warp || count->last_stretch == 0;
    count->last_warp = event->warp;
    count->last_stretch = event->stretch;
    return is_first ? 0 : (unsigned)since;
}

/* The warp has started all of its copies: if one of a tile was cut, all of the tile went the way of those at edges. */
static void end_copies(lab_cta_count *count)
{
    lab_copies *const c = &count->copies;
    for (unsigned i = 0; i < c->used; i++)
        add_of_warp(&count->cut_copies, c->warp, c->is_cut[i] ? c->count[i] : 0);
    c->used = 0;
}

static void note_copy(lab_cta_count *count, const tsr_watch_event *event)
{
    lab_copies *const c = &count->copies;
    unsigned i = 0;
    if (c->warp != event->warp)
        end_copies(count);
    c->warp = event->warp;
    while (i < c->used && c->place[i] != event->place)
        i++;
    if (i == LAB_PLACES)
        return;
    if (i == c->used) {
        c->place[i] = event->place;
        c->count[i] = 0;
        c->is_cut[i] = 0;
        c->used++;
    }
    c->count[i]++;
    for (uint32_t rest = event->lanes; rest; rest &= rest - 1)
        c->is_cut[i] |= event->address[__builtin_ctz(rest)] == 0;
}

void lab_cta_count_event(lab_cta_count *count, const tsr_watch_event *event)
{
    lab_counters *const sum = &count->sum;
    if (event->kind == TSR_WATCH_CTA_BARRIER) {
        sum->barriers += event->warp == 0;
        return;
    }
    const unsigned branches = branches_before(count, event);
    switch (event->kind) {
    case TSR_WATCH_GLOBAL_LOAD:
        add_to_l1(count, &sum->load, event, LAB_TOUCH_LOAD);
        note_load(count, event);
        break;
    case TSR_WATCH_GLOBAL_STORE:
        add_to_l1(count, &sum->store, event, LAB_TOUCH_STORE);
        add_of_warp(&count->store_branches, event->warp, branches);
        if (event->bytes == 16)
            add_global(count, &sum->wide_store, event);
        break;
    case TSR_WATCH_GLOBAL_ATOMIC:
        add_global(count, &sum->atomic, event);
        break;
    case TSR_WATCH_SHARED_LOAD:
        add_shared(count, &sum->shared_load, event->address, event->lanes, event->bytes);
        join(count, event);
        count->reads_shared = 1;
        break;
    case TSR_WATCH_SHARED_STORE:
        issue_all(count);
        add_shared(count, &sum->shared_store, event->address, event->lanes, event->bytes);
        note_store(count, event);
        break;
    case TSR_WATCH_COPY:
        add_copy(count, event);
        note_copy(count, event);
        break;
    case TSR_WATCH_BULK_LOAD:
        add_bulk(count, &sum->bulk_load, event);
        break;
    case TSR_WATCH_BULK_STORE:
        add_bulk(count, &sum->bulk_store, event);
        break;
    case TSR_WATCH_FMA_F32:
    case TSR_WATCH_FMA_F64:
        add_fma(count, event);
        break;
    case TSR_WATCH_TENSOR:
        sum->tensor_flops += (double)event->amount;
        break;
    case TSR_WATCH_TENSOR_READ:
        sum->tensor_shared_bytes += (double)event->amount;
        break;
    case TSR_WATCH_CTA_BARRIER:
        break;
    }
}

void lab_cta_count_barrier(lab_cta_count *count)
{
    enum { AT_ONCE = 8 };
    issue_all(count);
    if (count->stream)
        lab_stream_barrier(count->stream);
    count->sum.barriers++;
    count->sum.shared_tiles += count->reads_shared;
    count->reads_shared = 0;
    const long long waits = (count->loads + AT_ONCE - 1) / AT_ONCE;
    count->sum.waits += (double)waits;
    count->sum.load_stores += count->loads > 0 ? count->stores : 0;
    end_copies(count);
    count->sum.cut_copies += take_most(&count->cut_copies);
    count->sum.store_branches += take_most(&count->store_branches);
    count->last_stretch = 0;
    count->loads = count->warp_loads = 0;
    count->stores = count->warp_stores = 0;
}

void lab_cta_count_end(lab_cta_count *count)
{
    issue_all(count);
    count->sum.barriers--; /* the end of all threads is none */
}

/* ---- sums ---- */

static void add_traffic(lab_traffic *to, const lab_traffic *from, double scale)
{
    to->requests += scale * from->requests;
    to->lines += scale * from->lines;
    to->sectors += scale * from->sectors;
    to->bytes += scale * from->bytes;
}

void lab_counters_add(lab_counters *to, const lab_counters *from, double scale)
{
    to->fma_f32 += scale * from->fma_f32;
    to->fma_f64 += scale * from->fma_f64;
    to->warp_fma += scale * from->warp_fma;
    to->tensor_flops += scale * from->tensor_flops;
    to->bulk_shared_bytes += scale * from->bulk_shared_bytes;
    to->tensor_shared_bytes += scale * from->tensor_shared_bytes;
    to->barriers += scale * from->barriers;
    to->waits += scale * from->waits;
    to->cut_copies += scale * from->cut_copies;
    to->store_branches += scale * from->store_branches;
    to->load_stores += scale * from->load_stores;
    add_traffic(&to->load, &from->load, scale);
    add_traffic(&to->store, &from->store, scale);
    add_traffic(&to->wide_store, &from->wide_store, scale);
    add_traffic(&to->atomic, &from->atomic, scale);
    add_traffic(&to->copy, &from->copy, scale);
    add_traffic(&to->copy_past_l1, &from->copy_past_l1, scale);
    to->copy_line_pairs += scale * from->copy_line_pairs;
    add_traffic(&to->bulk_load, &from->bulk_load, scale);
    add_traffic(&to->bulk_store, &from->bulk_store, scale);
    add_passes(&to->shared_load, &from->shared_load, scale);
    add_passes(&to->shared_store, &from->shared_store, scale);
    add_passes(&to->shared_load_merged, &from->shared_load_merged, scale);
    add_passes(&to->shared_load_narrow, &from->shared_load_narrow, scale);
    to->shared_tiles += scale * from->shared_tiles;
    add_passes(&to->copy_shared, &from->copy_shared, scale);
}

double lab_counters_sectors(const lab_counters *c)
{
    return c->load.sectors + c->store.sectors + c->atomic.sectors + c->copy.sectors + c->bulk_load.sectors +
           c->bulk_store.sectors;
}

double lab_counters_intensity(const lab_counters *c)
{
    const double sectors = lab_counters_sectors(c);
    return sectors > 0 ? c->flops / (LAB_SECTOR_BYTES * sectors) : 0;
}
