#include "lab/predict/machine_code.h"

#include <math.h>
#include <string.h>

#include "core/device_code.h"

const lab_machine_code *lab_machine_code_of(const char *instance)
{
    const tsr_device_code *own = tsr_find_device_code(instance);
    for (const lab_machine_code *code = lab_machine_codes; code->instance; code++)
        if (strcmp(code->instance, instance) == 0)
            return own && strcmp(own->hash, code->hash) != 0 ? NULL : code;
    return NULL;
}

static void split_stores(const lab_machine_code *code, double warps, lab_counters *c)
{
    enum { PIECES = 4 };
    const double of_thread = c->wide_store.requests / warps;
    const double missing = of_thread - code->store[LAB_WIDE];
    if (missing <= 0 || code->store[LAB_NARROW] < PIECES * missing)
        return;
    /* Lanes are 16 bytes apart, so each piece touches the same sectors. */
    const double more = missing / of_thread * (PIECES - 1);
    c->store.requests += more * c->wide_store.requests;
    c->store.sectors += more * c->wide_store.sectors;
    c->store.lines += more * c->wide_store.lines;
    c->split_store_sectors = more * c->wide_store.sectors;
}

static void load_again(const lab_machine_code *code, double warps, lab_counters *c)
{
    const double tiles = c->shared_tiles / (double)c->ctas * warps;
    if (tiles <= 0)
        return;
    const double narrow = c->shared_load_narrow.requests / tiles;
    const double wide = c->shared_load_merged.requests / tiles - narrow;
    if (fabs(wide - code->shared_load[LAB_WIDE]) > 0.01 * wide || code->shared_load[LAB_MIDDLE] > 0 || narrow <= 0 ||
        code->shared_load[LAB_NARROW] <= narrow)
        return;
    const double more = code->shared_load[LAB_NARROW] / narrow - 1;
    lab_shared_traffic *const to = &c->shared_load_merged;
    to->requests += more * c->shared_load_narrow.requests;
    to->wavefronts += more * c->shared_load_narrow.wavefronts;
    to->conflicts += more * c->shared_load_narrow.conflicts;
    to->bytes += more * c->shared_load_narrow.bytes;
}

static void wait_for_groups(const lab_machine_code *code, lab_counters *c)
{
    if (code->load_groups == 0)
        return;
    const double waits = c->load_stores * code->load_groups / code->group_stores;
    c->waits = waits > c->waits ? waits : c->waits;
}

void lab_machine_code_apply(const lab_machine_code *code, lab_counters *counters)
{
    const int warps_of_cta = (counters->threads + 31) / 32;
    const double warps = (double)counters->ctas * warps_of_cta;
    split_stores(code, warps, counters);
    load_again(code, warps, counters);
    wait_for_groups(code, counters);
}
