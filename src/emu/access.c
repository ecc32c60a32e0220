/* The functions that kernels call before each access of memory. gcc's -fsanitize=thread puts the calls there;
 * src/emu/callbacks.syms gives them these names. Also the identity of a thread, for kernels/ptx. */
#include "emu/emulated_machine.h"

#define CALLER __builtin_return_address(0)
#define INLINE static inline __attribute__((always_inline))

_Noreturn __attribute__((noinline, cold)) void tsr_emu_fail_for(const emu_thread *culprit, emu_fault *fault,
                                                                const void *place)
{
    emu_thread *thread = tsr_emu_self();
    fault->cta = thread->cta->number;
    fault->thread = culprit->id;
    fault->place = place;
    fault->shared_bytes = thread->cta->window_bytes;
    fault->offset %= thread->cta->worker->launch->shape.window_stride;
    thread->cta->worker->fault = *fault;
    tsr_emu_abandon(thread);
}

_Noreturn void tsr_emu_fail_thread(emu_fault *fault, const void *place)
{
    tsr_emu_fail_for(tsr_emu_self(), fault, place);
}

static _Noreturn __attribute__((noinline, cold)) void fail(emu_fault *fault, const void *address, size_t size,
                                                           int is_write, const void *place)
{
    fault->address = address;
    fault->size = size;
    fault->is_write = is_write;
    tsr_emu_fail_thread(fault, place);
}

typedef enum global_kind { GLOBAL_READ, GLOBAL_WRITE, GLOBAL_REDUCTION } global_kind;

/* The access is wrong; but a near miss of shared memory is called by that name. */
static _Noreturn __attribute__((noinline, cold)) void
fail_global(emu_thread *thread, emu_fault *fault, const void *address, size_t size, int is_write, const void *place)
{
    const emu_shared *shared = &thread->cta->shared;
    if (tsr_emu_shared_is_near(shared, address)) {
        *fault = (emu_fault){.kind = EMU_OUTSIDE, .memory = EMU_SHARED};
        fault->past_bytes = (long long)((uintptr_t)address - (uintptr_t)shared->bytes - thread->window);
    }
    fail(fault, address, size, is_write, place);
}

static __attribute__((noinline)) void global_access(emu_thread *thread, const void *address, size_t size,
                                                    global_kind kind, const void *place)
{
    const int is_write = kind != GLOBAL_READ;
    emu_cta *cta = thread->cta;
    emu_fault fault; /* filled where something is wrong */
    if (cta->worker->launch->job->is_dependent && !tsr_emu_knows_grid_wait(thread)) {
        fault = (emu_fault){.kind = EMU_MISUSE, .rule = "global memory is used before griddepcontrol.wait"};
        fail_global(thread, &fault, address, size, is_write, place);
    }
    const emu_agent agent = {cta->number, &thread->clock, &cta->shared.time, &cta->far};
    emu_global *global = &cta->worker->global;
    emu_claims *claims = &cta->worker->launch->claims;
    if (kind == GLOBAL_REDUCTION ? !tsr_emu_global_reduce(global, claims, address, size, &agent, &fault)
                                 : !tsr_emu_global_access(global, claims, address, size, is_write, &agent, &fault))
        fail_global(thread, &fault, address, size, is_write, place);
}

static __attribute__((noinline, cold)) void misaligned(emu_thread *thread, const void *address, size_t size,
                                                       int is_write, const void *place)
{
    emu_fault fault = {.kind = EMU_MISALIGNED};
    const emu_shared *shared = &thread->cta->shared;
    const size_t offset = (uintptr_t)address - (uintptr_t)shared->bytes;
    if (offset < shared->count) {
        fault.memory = EMU_SHARED;
        fault.offset = offset;
    } else {
        tsr_emu_global_name(&thread->cta->worker->global, address, &fault);
    }
    fail(&fault, address, size, is_write, place);
}

/* Shared or global memory; all its cases. */
static __attribute__((noinline)) void memory_access(emu_thread *thread, const void *address, size_t size, int is_write,
                                                    int is_traced, const void *place)
{
    emu_shared *shared = &thread->cta->shared;
    const size_t inside = (uintptr_t)address - (uintptr_t)shared->bytes - thread->window;
    const size_t offset = inside + thread->window;
    if (inside >= thread->cta->window_bytes || thread->cta->window_bytes - inside < size) {
        global_access(thread, address, size, is_write ? GLOBAL_WRITE : GLOBAL_READ, place);
    } else {
        emu_fault fault;
        const int good = is_write ? tsr_emu_shared_write(shared, offset, size, &thread->clock, &fault)
                                  : tsr_emu_shared_read(shared, offset, size, &thread->clock, &fault);
        if (!good)
            fail(&fault, address, size, is_write, place);
    }
    if (__builtin_expect(is_traced && thread->cta->trace != NULL, 0))
        tsr_emu_trace_access(thread, address, size, is_write, place);
    if (__builtin_expect(is_traced && thread->cta->listener != NULL, 0))
        tsr_emu_tell_access(thread, address, size, is_write, place);
}

/* An aligned access of whole or half words of shared memory, of which nothing is unusual. 0: something is, or may be.
 */
INLINE int quick_access(const emu_thread *thread, const void *address, size_t size, int is_write)
{
    emu_cta *cta = thread->cta;
    const size_t inside = (uintptr_t)address - (uintptr_t)cta->shared.bytes - thread->window;
    if (inside >= cta->window_bytes || cta->window_bytes - inside < size || cta->is_followed)
        return 0;
    const size_t offset = inside + thread->window;
    if (size == 2)
        return tsr_emu_shared_access_half_quickly(&cta->shared, offset, is_write, &thread->clock);
    for (size_t i = 0; i < size; i += 4)
        if (!tsr_emu_shared_access_quickly(&cta->shared, offset + i, is_write, &thread->clock))
            return 0; /* to do some words twice changes nothing */
    return 1;
}

/* A read of an operand that nobody writes, in the row of the read before. Of no use where reads must be waited for, or
 * are traced. */
INLINE int quick_global_read(const emu_thread *thread, const void *address, size_t size)
{
    const emu_cta *cta = thread->cta;
    const emu_operand *operands = cta->worker->global.operands;
    if (cta->is_followed || cta->worker->global.is_dependent)
        return 0;
    for (int i = EMU_A; i <= EMU_B; i++) {
        const uintptr_t offset = (uintptr_t)address - operands[i].last_row;
        if (offset < operands[i].last_row_bytes && operands[i].last_row_bytes - offset >= size)
            return 1;
    }
    return 0;
}

/* The thread's own stack is its own business: local arrays that gcc did not keep in registers. */
INLINE int is_own(const void *address, size_t size, int aligned)
{
    return (uintptr_t)address - (uintptr_t)tsr_emu_self()->fiber.stack <= EMU_STACK_BYTES - size &&
           (!aligned || ((uintptr_t)address & (size - 1)) == 0);
}

INLINE void access_elsewhere(const void *address, size_t size, int is_write, int aligned, int is_traced,
                             const void *place)
{
    emu_thread *thread = tsr_emu_self();
    if (aligned && ((uintptr_t)address & (size - 1)) != 0)
        misaligned(thread, address, size, is_write, place);
    if (aligned && size % 2 == 0 && quick_access(thread, address, size, is_write))
        return;
    if (!is_write && quick_global_read(thread, address, size))
        return;
    memory_access(thread, address, size, is_write, is_traced, place);
}

INLINE void access(const void *address, size_t size, int is_write, int aligned, int is_traced, const void *place)
{
    if (!is_own(address, size, aligned))
        access_elsewhere(address, size, is_write, aligned, is_traced, place);
}

void tsr_emu_check(const void *address, size_t size, int is_write, const void *place)
{
    access(address, size, is_write, 0, 0, place);
}

void tsr_emu_check_reduction(const void *address, size_t size, const void *place)
{
    global_access(tsr_emu_self(), address, size, GLOBAL_REDUCTION, place);
}

void tsr_emu_checked_read(const void *address, size_t size, int aligned, const void *place)
{
    access(address, size, 0, aligned, 1, place);
}

void tsr_emu_checked_write(const void *address, size_t size, int aligned, const void *place)
{
    access(address, size, 1, aligned, 1, place);
}

void tsr_emu_require_shared(const void *address, unsigned bytes)
{
    const emu_thread *thread = tsr_emu_self();
    const size_t inside = (uintptr_t)address - (uintptr_t)thread->cta->shared.bytes - thread->window;
    if (inside < thread->cta->window_bytes && thread->cta->window_bytes - inside >= bytes)
        return;
    emu_fault fault = {.kind = EMU_MISUSE, .rule = "the address must be in the CTA's shared memory"};
    tsr_emu_fail_thread(&fault, CALLER);
}

void tsr_emu_misuse(const char *rule)
{
    emu_fault fault = {.kind = EMU_MISUSE, .rule = rule};
    tsr_emu_fail_thread(&fault, CALLER);
}

/* Each of these is called by kernels under gcc's name for it. Most accesses are of the thread's own stack, and must not
 * pay for what the others need: those get a function of their own. */
#define ACCESS(name, qualifier, size, is_write)                                                    \
    static __attribute__((noinline)) void name##_elsewhere(const void *address, const void *place) \
    {                                                                                              \
        access_elsewhere(address, size, is_write, 1, 1, place);                                    \
    }                                                                                              \
    void tsr_emu_##name(qualifier void *address);                                                  \
    void tsr_emu_##name(qualifier void *address)                                                   \
    {                                                                                              \
        if (!is_own(address, size, 1))                                                             \
            name##_elsewhere(address, CALLER);                                                     \
    }
#define READ(name, size)  ACCESS(name, const, size, 0)
#define WRITE(name, size) ACCESS(name, , size, 1)

#include "emu/accesses.def"

/* A struct that is copied whole. */
void tsr_emu_read_range(const void *address, unsigned long size);
void tsr_emu_read_range(const void *address, unsigned long size)
{
    access(address, size, 0, 0, 1, CALLER);
}
void tsr_emu_write_range(void *address, unsigned long size);
void tsr_emu_write_range(void *address, unsigned long size)
{
    access(address, size, 1, 0, 1, CALLER);
}

/* gcc calls this where a function starts: the place to notice that a thread's stack is too small for the kernel. */
void tsr_emu_func_entry(const void *caller);
void tsr_emu_func_entry(const void *caller)
{
    (void)caller;
    emu_thread *thread = tsr_emu_self();
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (frame - (uintptr_t)thread->fiber.stack < EMU_STACK_RESERVE) {
        emu_fault fault = {.kind = EMU_STACK};
        tsr_emu_fail_thread(&fault, CALLER);
    }
}
void tsr_emu_func_exit(void);
void tsr_emu_func_exit(void)
{
}
/* Constructors of instrumented objects call this when the library is loaded. */
void tsr_emu_init(void);
void tsr_emu_init(void)
{
}

tsr_emu_uint3 tsr_emu_thread_idx(void)
{
    return tsr_emu_self()->idx;
}

tsr_emu_uint3 tsr_emu_block_idx(void)
{
    tsr_emu_uint3 idx = tsr_emu_self()->cta->idx;
    idx.x += tsr_emu_self()->rank;
    return idx;
}

tsr_emu_uint3 tsr_emu_block_dim(void)
{
    const tsr_emu_job *job = tsr_emu_self()->cta->worker->launch->job;
    return (tsr_emu_uint3){job->threads_x, job->threads_y, 1};
}

tsr_emu_uint3 tsr_emu_grid_dim(void)
{
    const tsr_grid *grid = &tsr_emu_self()->cta->worker->launch->job->grid;
    return (tsr_emu_uint3){(unsigned)grid->x, (unsigned)grid->y, (unsigned)grid->z};
}

unsigned char *tsr_emu_shared_base(void)
{
    return tsr_emu_self()->cta->shared.bytes + tsr_emu_self()->window;
}

unsigned tsr_emu_shared_address(const void *pointer)
{
    const emu_thread *thread = tsr_emu_self();
    return thread->rank << EMU_RANK_SHIFT |
           (unsigned)((uintptr_t)pointer - (uintptr_t)(thread->cta->shared.bytes + thread->window));
}

void *tsr_emu_shared_pointer(unsigned address)
{
    const emu_thread *thread = tsr_emu_self();
    if (address >> EMU_RANK_SHIFT != thread->rank)
        tsr_emu_misuse("an ordinary access at a shared address of another CTA");
    return thread->cta->shared.bytes + thread->window + (address & EMU_OFFSET_MASK);
}
