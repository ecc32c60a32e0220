#include "core/device_code.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* The index of the entry whose first member is `instance`, from `from` to before `to` or the table's end. */
static size_t find_within(const void *entries, size_t entry_bytes, const char *instance, size_t from, size_t to)
{
    for (size_t at = from; at < to; at++) {
        const char *name;
        memcpy(&name, (const char *)entries + at * entry_bytes, sizeof name);
        if (!name)
            break;
        if (strcmp(name, instance) == 0)
            return at;
    }
    return SIZE_MAX;
}

/* SIZE_MAX: there is none. Choosing a kernel asks for all configs in the order of their table, which the build keeps:
 * the search begins behind the entry found last. */
static size_t find(const void *entries, size_t entry_bytes, const char *instance, atomic_size_t *next)
{
    const size_t begin = atomic_load_explicit(next, memory_order_relaxed);
    size_t at = find_within(entries, entry_bytes, instance, begin, SIZE_MAX);
    if (at == SIZE_MAX)
        at = find_within(entries, entry_bytes, instance, 0, begin);
    if (at != SIZE_MAX)
        atomic_store_explicit(next, at + 1, memory_order_relaxed);
    return at;
}

const tsr_device_code *tsr_find_device_code(const char *instance)
{
    static atomic_size_t next;
    const size_t at = find(tsr_device_codes, sizeof tsr_device_codes[0], instance, &next);
    return at == SIZE_MAX ? NULL : &tsr_device_codes[at];
}

const tsr_emu_code *tsr_find_emu_code(const tsr_emu_code *codes, const char *instance)
{
    static atomic_size_t next;
    const size_t at = find(codes, sizeof codes[0], instance, &next);
    return at == SIZE_MAX ? NULL : &codes[at];
}

const char *tsr_stamp_text(const tsr_stamp *stamps, const tsr_device_code *code, const char *nvcc)
{
    const char *text = "untested on hardware";
    for (const tsr_stamp *stamp = stamps; code && stamp->instance; stamp++) {
        if (strcmp(stamp->instance, code->instance) != 0)
            continue;
        if (strcmp(stamp->hash, code->hash) == 0)
            return stamp->where;
        if (strcmp(stamp->nvcc, nvcc) != 0)
            text = stamp->unknown;
    }
    return text;
}
