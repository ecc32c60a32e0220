/* Workspace of ours: one pool a GPU, of small parts, each for the first stream that asks for it, and a large one. Runs
 * on one stream follow each other (engine.c keeps the launches of one together), so that they may share a part; nobody
 * says when a stream is done, so that a part stays with its stream as long as the pool lives. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas/call_log.h"
#include "cublas/cublas.h"
#include "cublas/nvidia.h"

#define MIB         ((size_t)1 << 20)
#define LARGE_BYTES (64 * MIB)
enum { SMALL_PARTS = 16, LARGE_PART = SMALL_PARTS, PARTS, MIB_MAX = 65536 };

/* FILLING: a thread has its counters zeroed on the stream; until that is enqueued no other may use it. */
typedef struct pool_part {
    enum { FREE, FILLING, READY } state;
    uint64_t stream;
} pool_part;

typedef struct pool {
    int handles;    /* that hold it */
    int is_kept;    /* a handle that was made out of sight uses it, and nobody sees that one's end */
    int has_failed; /* since the last handle came */
    char *memory;   /* the small parts, then the large one; NULL: none */
    tsr_context *context;
    pid_t process; /* that made it */
    pool_part parts[PARTS];
} pool;

static pool pools[TSR_NVIDIA_DEVICES_MAX];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static size_t allowed_bytes; /* by the user, whatever the caller gives; 0: not said */

static void read_environment(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *mib = getenv("TESSERA_CUBLAS_WORKSPACE_MIB");
    char *end = NULL;
    const long value = mib && *mib ? strtol(mib, &end, 10) : 0;
    if (value < 0 || value > MIB_MAX || (end && *end))
        tsr_call_log_tell(&told,
                          "TESSERA_CUBLAS_WORKSPACE_MIB = %.40s: not a number from 0 to %d; as if it were not set", mib,
                          MIB_MAX);
    else
        allowed_bytes = (size_t)value * MIB;
}

size_t tsr_pool_most_bytes(int is_given)
{
    pthread_once(&once, read_environment);
    const size_t bytes = allowed_bytes ? allowed_bytes : is_given ? TSR_POOL_SMALL_BYTES : LARGE_BYTES;
    return bytes > TSR_POOL_SMALL_BYTES ? bytes : TSR_POOL_SMALL_BYTES;
}

size_t tsr_pool_bytes(void)
{
    return SMALL_PARTS * TSR_POOL_SMALL_BYTES + tsr_pool_most_bytes(0);
}

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

static void *allocate(tsr_context *context)
{
    void *memory = NULL;
    if (!tsr_nvidia_is_here())
        return tsr_device_alloc(context, tsr_pool_bytes(), &memory) == TSR_OK ? memory : NULL;
    const int mode = tsr_nvidia_relax_capture(TSR_NVIDIA_RELAXED);
    memory = tsr_nvidia_alloc(tsr_pool_bytes());
    tsr_nvidia_relax_capture(mode);
    return memory;
}

/* The driver waits for what still runs on it. The child of a fork has no part in its parent's. */
static void release(int ordinal, const pool *gone)
{
    if (!gone->memory || gone->process != getpid())
        return;
    if (!tsr_nvidia_is_here()) {
        tsr_device_free(gone->context, gone->memory);
        return;
    }
    const int mode = tsr_nvidia_relax_capture(TSR_NVIDIA_RELAXED);
    tsr_nvidia_free(ordinal, gone->memory);
    tsr_nvidia_relax_capture(mode);
}

/* Of two threads that come at once, the second one's memory is freed again. */
static void make(int ordinal, tsr_context *context)
{
    pool made = {.memory = allocate(context), .context = context, .process = getpid()};
    pool *here = &pools[ordinal];
    tsr_cublas_lock();
    here->has_failed = !here->memory && !made.memory;
    if (!here->memory) {
        made.handles = here->handles;
        made.is_kept = here->is_kept;
        made.has_failed = here->has_failed;
        *here = made;
        made.memory = NULL;
    }
    tsr_cublas_unlock();
    release(ordinal, &made);
}

/* ---- handles ------------------------------------------------------------------------------------------------------
 */

void tsr_pool_hold(int ordinal, tsr_context *context)
{
    tsr_cublas_lock();
    pools[ordinal].handles++;
    const int is_there = pools[ordinal].memory != NULL;
    tsr_cublas_unlock();
    if (!is_there)
        make(ordinal, context);
}

void tsr_pool_drop(int ordinal)
{
    pool gone = {0}, *here = &pools[ordinal];
    tsr_cublas_lock();
    if (--here->handles == 0 && !here->is_kept) {
        gone = *here;
        *here = (pool){0};
    }
    tsr_cublas_unlock();
    release(ordinal, &gone);
}

/* ---- parts --------------------------------------------------------------------------------------------------------
 */

/* The stream's part, or one that it gets now and that the caller fills; NULL: all are others'. */
static pool_part *find_part(pool *from, uint64_t stream, int is_large)
{
    pool_part *at = from->parts + (is_large ? LARGE_PART : 0), *end = from->parts + (is_large ? PARTS : SMALL_PARTS);
    while (at < end && at->state != FREE && at->stream != stream)
        at++;
    return at == end || at->state == FILLING || !from->memory ? NULL : at;
}

static char *memory_of(const pool *from, const pool_part *part)
{
    return from->memory + (size_t)(part - from->parts) * TSR_POOL_SMALL_BYTES;
}

/* Counters are zeroed on the stream that uses them: on the default one that would spoil captures of other threads. */
static int fill(char *memory, void *stream)
{
    if (tsr_nvidia_is_here())
        return tsr_nvidia_zero(memory, TSR_POOL_COUNTERS_BYTES, stream);
    memset(memory, 0, TSR_POOL_COUNTERS_BYTES);
    return 1;
}

void *tsr_pool_take(int ordinal, tsr_context *context, int is_held, void *stream, uint64_t id, size_t bytes)
{
    pool *here = &pools[ordinal];
    pool_part *part;
    char *memory = NULL;
    int is_missing, is_new = 0, has_tried = 0;
    for (;;) {
        tsr_cublas_lock();
        here->is_kept |= !is_held; /* the end of the others must not free it */
        is_missing = !here->memory && !here->has_failed;
        part = find_part(here, id, bytes > TSR_POOL_SMALL_BYTES);
        if (part) {
            memory = memory_of(here, part);
            is_new = part->state == FREE;
            *part = (pool_part){is_new ? FILLING : READY, id};
        }
        tsr_cublas_unlock();
        if (!is_missing || has_tried++)
            break;
        make(ordinal, context);
    }
    if (!is_new)
        return memory;
    const int is_filled = fill(memory, stream);
    tsr_cublas_lock();
    part->state = is_filled ? READY : FREE;
    tsr_cublas_unlock();
    return is_filled ? memory : NULL;
}
