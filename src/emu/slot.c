#include "emu/slot.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/emulated_machine.h"
#include "emu/sanitizer.h"

/* Products that pad their operands run two kernels in turn. */
enum { POOL_SHAPES = 3, POOL_SLOTS = 32 };
/* Tables of zeroes that wait for the next launch, and how large they are. */
enum { POOL_BLOCKS = 8, POOL_BLOCK_BYTES = 4 << 20 };

/* Slots of one shape. */
typedef struct emu_shelf {
    emu_cta *slots;
    int count;
    unsigned long long used; /* 0: the shelf is free */
} emu_shelf;

struct tsr_emu_pool {
    pthread_mutex_t lock;
    emu_shelf shelves[POOL_SHAPES];
    unsigned long long uses;
    void *blocks[POOL_BLOCKS];
    int n_blocks;
    const tsr_allocator *allocator;
};

static void free_list(emu_cta *slots)
{
    while (slots) {
        emu_cta *next = slots->next;
        tsr_emu_slot_free(slots);
        slots = next;
    }
}

tsr_emu_pool *tsr_emu_pool_make(const tsr_allocator *allocator)
{
    tsr_emu_pool *pool = tsr_alloc(allocator, 0, sizeof *pool);
    if (!pool)
        return NULL;
    *pool = (tsr_emu_pool){.allocator = allocator};
    pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

void tsr_emu_pool_free(tsr_emu_pool *pool)
{
    if (!pool)
        return;
    for (int i = 0; i < POOL_SHAPES; i++)
        free_list(pool->shelves[i].slots);
    for (int i = 0; i < pool->n_blocks; i++)
        munmap(pool->blocks[i], POOL_BLOCK_BYTES);
    pthread_mutex_destroy(&pool->lock);
    tsr_free(pool->allocator, pool);
}

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void *tsr_emu_zeroes_take(tsr_emu_pool *pool, size_t bytes)
{
    if (bytes == 0)
        return NULL;
    if (!pool || bytes > POOL_BLOCK_BYTES)
        return map(bytes);
    pthread_mutex_lock(&pool->lock);
    void *block = pool->n_blocks > 0 ? pool->blocks[--pool->n_blocks] : NULL;
    pthread_mutex_unlock(&pool->lock);
    return block ? memset(block, 0, bytes) : map(POOL_BLOCK_BYTES);
}

void tsr_emu_zeroes_give(tsr_emu_pool *pool, void *memory, size_t bytes)
{
    if (!memory)
        return;
    if (!pool || bytes > POOL_BLOCK_BYTES) {
        munmap(memory, bytes);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    const int is_full = pool->n_blocks == POOL_BLOCKS;
    if (!is_full)
        pool->blocks[pool->n_blocks++] = memory;
    pthread_mutex_unlock(&pool->lock);
    if (is_full)
        munmap(memory, POOL_BLOCK_BYTES);
}

static int same_shape(const emu_shape *a, const emu_shape *b)
{
    return a->cluster == b->cluster && a->cta_threads == b->cta_threads && a->threads_x == b->threads_x &&
           a->shared_bytes == b->shared_bytes && a->is_hopper == b->is_hopper && a->allocator == b->allocator;
}

/* The shelf of this shape, or else the one that was not used for longest. */
static emu_shelf *find_shelf(tsr_emu_pool *pool, const emu_shape *shape)
{
    emu_shelf *oldest = &pool->shelves[0];
    for (int i = 0; i < POOL_SHAPES; i++) {
        emu_shelf *shelf = &pool->shelves[i];
        if (shelf->count > 0 && same_shape(&shelf->slots->shape, shape))
            return shelf;
        if (shelf->used < oldest->used)
            oldest = shelf;
    }
    return oldest;
}

static emu_cta *take(tsr_emu_pool *pool, const emu_shape *shape)
{
    pthread_mutex_lock(&pool->lock);
    emu_shelf *shelf = find_shelf(pool, shape);
    emu_cta *slot = shelf->count > 0 && same_shape(&shelf->slots->shape, shape) ? shelf->slots : NULL;
    if (slot) {
        shelf->slots = slot->next;
        if (--shelf->count == 0)
            *shelf = (emu_shelf){0};
    }
    pthread_mutex_unlock(&pool->lock);
    return slot;
}

/* Slots of a shape that was not used for long make room for those of a new one. */
void tsr_emu_slot_keep(emu_cta *slot, tsr_emu_pool *pool)
{
    emu_cta *unwanted = NULL;
    tsr_emu_watch_free(slot);
    if (!pool) {
        tsr_emu_slot_free(slot);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    emu_shelf *shelf = find_shelf(pool, &slot->shape);
    if (shelf->count > 0 && !same_shape(&shelf->slots->shape, &slot->shape)) {
        unwanted = shelf->slots;
        *shelf = (emu_shelf){0};
    }
    shelf->used = ++pool->uses;
    if (shelf->count < POOL_SLOTS) {
        slot->next = shelf->slots;
        shelf->slots = slot;
        shelf->count++;
    } else {
        slot->next = unwanted;
        unwanted = slot;
    }
    pthread_mutex_unlock(&pool->lock);
    free_list(unwanted);
}

void tsr_emu_slot_free(emu_cta *cta)
{
    const emu_shape shape = cta->shape;
    if (cta->stacks) {
        const size_t stacks_bytes = (size_t)shape.n_threads * EMU_STACK_STRIDE;
        tsr_sanitizer_unpoison(cta->stacks, stacks_bytes); /* whoever gets these addresses next */
        munmap(cta->stacks, stacks_bytes);
    }
    tsr_emu_reset_named(cta);
    for (unsigned i = 0; cta->threads && i < shape.n_threads; i++) {
        tsr_emu_copies_free(&cta->threads[i].copies, shape.allocator);
        tsr_emu_seen_drop(&cta->shared.time, cta->threads[i].clock.seen);
    }
    tsr_emu_hopper_free(cta);
    tsr_emu_watch_free(cta);
    tsr_free(shape.allocator, cta->threads);
    tsr_free(shape.allocator, cta->ready);
    tsr_emu_far_free(&cta->far, shape.allocator);
    tsr_emu_shared_free(&cta->shared, shape.allocator);
    tsr_free(shape.allocator, cta);
}

static int fill(emu_cta *cta, const emu_shape *shape)
{
    *cta = (emu_cta){.shape = *shape, .window_bytes = shape->shared_bytes};
    if (!tsr_emu_shared_make(&cta->shared, shape->window_stride * (shape->cluster - 1) + shape->shared_bytes,
                             shape->n_threads, shape->allocator))
        return 0;
    cta->ready = tsr_alloc(shape->allocator, 64, shape->n_threads * sizeof *cta->ready);
    cta->threads = tsr_alloc(shape->allocator, 64, shape->n_threads * sizeof *cta->threads);
    for (unsigned i = 0; cta->threads && i < shape->n_threads; i++) {
        const unsigned in_cta = i % shape->cta_threads, rank = i / shape->cta_threads;
        cta->threads[i] = (emu_thread){.cta = cta,
                                       .id = i,
                                       .rank = rank,
                                       .window = rank * shape->window_stride,
                                       .idx = {in_cta % shape->threads_x, in_cta / shape->threads_x, 0},
                                       .state = EMU_ENDED};
    }
    cta->stacks = map((size_t)shape->n_threads * EMU_STACK_STRIDE);
    return cta->ready && cta->threads && cta->stacks && (!shape->is_hopper || tsr_emu_hopper_make(cta));
}

emu_cta *tsr_emu_slot_make(const emu_shape *shape, tsr_emu_pool *pool)
{
    emu_cta *cta = pool ? take(pool, shape) : NULL;
    if (cta)
        return cta;
    cta = tsr_alloc(shape->allocator, 64, sizeof *cta);
    if (cta && !fill(cta, shape)) {
        tsr_emu_slot_free(cta);
        return NULL;
    }
    return cta;
}
