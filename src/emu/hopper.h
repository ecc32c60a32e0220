/* What Hopper's instructions add to the machine: clusters, mbarriers, the bulk copy engine, the tensor
 * cores. Private to src/emu. A slot has this where its kernel is for such a GPU. */
#ifndef TSR_EMU_HOPPER_H
#define TSR_EMU_HOPPER_H

#include "core/tensor_spec.h"
#include "emu/reduce.h"
#include "emu/shared.h"
#include "ptx/emulator_hopper.h"

/* A 32-bit shared address: the CTA's rank in the cluster above its own offset. */
#define EMU_RANK_SHIFT  24
#define EMU_OFFSET_MASK ((1u << EMU_RANK_SHIFT) - 1)

enum {
    EMU_MBARRIERS = 256,     /* of a slot */
    EMU_PRODUCTS = 64,       /* wgmma instructions in flight, of a thread */
    EMU_ACCUMULATORS = 4,    /* tiles of accumulators in flight, of a thread */
    EMU_GROUP_THREADS = 128, /* of a warp group */
    EMU_WGMMA_M = 64,
    EMU_WGMMA_K_BYTES = 32,
    EMU_WGMMA_MAX_N = 256,
    EMU_STORES = 16, /* bulk stores in flight, of a thread */
    EMU_MAXNREG_SETS = 8,
    EMU_CLUSTER_CTAS = 8
};

struct emu_thread;
struct emu_cta;

/* What the copy engine does with the bytes that it brings: a copy, or a reduction of elements of some type. */
typedef struct emu_combine {
    int is_reduction;
    tsr_reduction_operation operation;
    emu_number type;
} emu_combine;

/* When a thread asked for something that is done later. */
typedef struct emu_moment {
    emu_clock clock; /* refers to what the thread had seen */
    uint32_t floor;
} emu_moment;

/* Bytes that the copy engine has not delivered to one CTA: a box from global memory, or, with a sender, bytes of the
 * slot's shared memory. */
typedef struct emu_load {
    struct emu_load *next;
    tsr_tensor_spec spec;
    long long at[TSR_TENSOR_MOST_RANK];
    const struct emu_thread *sender;
    size_t from;
    emu_moment moment; /* when it was sent */
    const void *place;
    emu_combine combine;
    size_t to; /* in the slot's shared memory */
    size_t bytes;
    emu_stamp stamp; /* of the thread that asked */
    emu_seen *seen;  /* what that thread had done and seen */
} emu_load;

typedef struct emu_mbarrier {
    size_t offset; /* in the slot's shared memory */
    unsigned count, pending;
    long long bytes; /* still to come in this phase */
    unsigned phase;
    int is_fenced;          /* known beyond the CTA's threads */
    emu_seen *board, *done; /* of this phase, of the one before */
    emu_load *loads;        /* to be delivered */
    struct emu_thread *waiting;
} emu_mbarrier;

/* The cluster's barrier. */
typedef struct emu_meeting {
    unsigned arrived, phase;
    emu_seen *board, *done;
    struct emu_thread *waiting;
} emu_meeting;

/* One warp group's tensor cores. */
typedef struct emu_group {
    unsigned arrived;
    struct emu_thread *waiting;
    struct emu_tensor_work *work; /* NULL until the first product */
    int loaded[EMU_ACCUMULATORS];
    unsigned n_registers;            /* setmaxnreg instructions so far */
    int registers[EMU_MAXNREG_SETS]; /* what they set, the latest in a ring */
} emu_group;

typedef struct emu_cta_hopper {
    emu_mbarrier mbarriers[EMU_MBARRIERS];
    unsigned n_mbarriers;
    emu_load *free_loads;
    emu_meeting cluster;
    emu_group *groups;                /* of the slot's threads */
    unsigned n_groups, cta_groups;    /* of the slot, of a CTA */
    emu_fences *fences;               /* one for each thread */
    unsigned ended[EMU_CLUSTER_CTAS]; /* threads of each CTA that have ended */
    emu_seen *ends[EMU_CLUSTER_CTAS]; /* what these had done and seen */
    struct emu_thread_hopper *threads;
    int grid_waited; /* some thread was first to wait for the grid before, at this stamp */
    emu_stamp grid_stamp;
} emu_cta_hopper;

/* One wgmma that a thread has issued. */
typedef struct emu_product {
    unsigned long long a, b; /* descriptors */
    unsigned registers[4];   /* of A, where it is not in shared memory; of a sparse A, the first: its metadata */
    const void *place;
    emu_seen *seen; /* what the thread had seen then */
    uint32_t floor; /* what all had seen then */
    unsigned group;
    short n;
    unsigned char accumulate, a_in_registers, mn_major_a, mn_major_b, type, tile, is_sparse, selector;
} emu_product;

/* Accumulators that the tensor cores own for the time being. */
typedef struct emu_accumulators {
    float *registers; /* NULL: free */
    float values[EMU_WGMMA_MAX_N / 2];
    int n;
    int is_f16; /* two to a register */
} emu_accumulators;

/* A box that goes to global memory. Once it is read from shared memory, `held` has it; it is written when the thread
 * waits for that, or ends. */
typedef struct emu_store {
    tsr_tensor_spec spec;
    long long at[TSR_TENSOR_MOST_RANK];
    size_t from;
    const void *place;
    emu_moment moment;
    emu_combine combine;
    unsigned char *held; /* NULL: not read yet */
    unsigned group;
} emu_store;

/* The last time that a thread reached into another CTA's shared memory. */
typedef struct emu_reach {
    uint32_t clock; /* 0: never */
    const void *place;
} emu_reach;

typedef struct emu_thread_hopper {
    emu_reach reached[EMU_CLUSTER_CTAS];
    int has_grid_waited; /* griddepcontrol.wait */
    int has_arrived;     /* at the cluster's barrier, and not waited */
    unsigned arrived_phase;
    int is_wgmma_fenced;
    unsigned n_registers; /* setmaxnreg instructions so far */
    unsigned n_products, products_committed;
    emu_product products[EMU_PRODUCTS];
    emu_accumulators accumulators[EMU_ACCUMULATORS];
    unsigned n_stores, stores_committed;
    emu_store stores[EMU_STORES];
} emu_thread_hopper;

/* The warp group of a thread, and the first of its threads: CTAs of a cluster count from their own first thread, and
 * the last group of each may be smaller. */
struct emu_group *tsr_emu_group_of(const struct emu_thread *thread);
struct emu_thread *tsr_emu_group_threads(const struct emu_thread *thread);

/* 0 when out of memory. free is right for a slot that make left unfinished. */
int tsr_emu_hopper_make(struct emu_cta *cta);
void tsr_emu_hopper_free(struct emu_cta *cta);
/* A new CTA or cluster starts in the slot. */
void tsr_emu_hopper_begin(struct emu_cta *cta);
/* A thread has ended: nothing of it may be under way. */
void tsr_emu_hopper_thread_ends(struct emu_thread *thread);

/* The calling thread, which must run a kernel for such a GPU. */
struct emu_thread *tsr_emu_hopper_self(const void *place);

/* A thread reaches into the shared memory of CTA `rank` of its cluster, which must be there. */
void tsr_emu_reach(struct emu_thread *self, unsigned rank, const void *place);

/* 1 if the thread waited for the grid before this one, or learned of a thread that did. */
int tsr_emu_knows_grid_wait(const struct emu_thread *self);

/* __syncthreads of one CTA of a cluster. */
void tsr_emu_barrier_in_cluster(struct emu_thread *self, const void *place);

/* The calling thread broke a rule. */
_Noreturn void tsr_emu_break(const char *rule, const void *place);
/* There is no memory, or no clock, for what an instruction needs: TSR_OUT_OF_MEMORY, no fault of the kernel. */
_Noreturn void tsr_emu_no_memory(void);

/* Waits in *list; wake_all lets all of a list go on. */
void tsr_emu_wait_in(struct emu_thread *self, struct emu_thread **list, const void *place);
void tsr_emu_wake_all(struct emu_thread **list);

/* The bytes' place in the slot of a shared address of the caller's CTA; breaks a rule if they are not all inside. */
size_t tsr_emu_place_in_slot(const struct emu_thread *self, unsigned address, size_t bytes, const void *place);

/* Publishes and learns as the thread's clock does; no memory ends the kernel. */
void tsr_emu_release(struct emu_thread *self, emu_seen **board);
void tsr_emu_acquire(struct emu_thread *self, emu_seen *board);

/* tma.c: the copy engine writes a load's box into shared memory; a thread ends, or is forgotten with what it asked. */
void tsr_emu_deliver(struct emu_cta *cta, emu_load *load);
void tsr_emu_stores_end(struct emu_thread *thread);
void tsr_emu_stores_forget(struct emu_thread *thread);
/* bulk.c: the same for bytes that come from shared memory. */
void tsr_emu_deliver_sent(struct emu_cta *cta, emu_load *load);

/* Loads and stores of boxes, of which bulk copies without a map are a special case. to, bar, from: shared addresses. */
void tsr_emu_start_loads(struct emu_thread *self, const tsr_tensor_spec *spec, const long long at[TSR_TENSOR_MOST_RANK],
                         unsigned to, unsigned bar, unsigned mask, const void *place);
void tsr_emu_start_store(struct emu_thread *self, const tsr_tensor_spec *spec, const long long at[TSR_TENSOR_MOST_RANK],
                         unsigned from, emu_combine combine, const void *place);
/* The barrier at this offset of the slot, which the copy engine must know. */
emu_mbarrier *tsr_emu_engine_mbarrier(struct emu_cta *cta, size_t bar_at, const void *place);
/* One more for the barrier; the caller fills it. */
emu_load *tsr_emu_add_load(struct emu_cta *cta, emu_mbarrier *bar);

/* Now; drop_moment forgets it. The thread's later accesses are told from those before. */
emu_moment tsr_emu_moment(struct emu_thread *self);
void tsr_emu_drop_moment(struct emu_cta *cta, emu_moment *moment);
/* wgmma.c */
void tsr_emu_products_end(struct emu_thread *thread);
/* mbarrier.c: of the barrier at this offset of the slot; NULL if there is none. */
emu_mbarrier *tsr_emu_find_mbarrier(struct emu_cta *cta, size_t offset);

/* Where 16 bytes at a place of a slot's shared memory lie with a swizzle over rows of 128, 64, 32 or (none) 16 bytes,
 * given windows at multiples of 1024: bits 4 to 6, 4 to 5, or 4, are changed by as many bits from bit 7 on. */
static inline size_t tsr_emu_swizzle(size_t place, unsigned row_bytes)
{
    return place ^ (place >> 7 & (row_bytes / 16 - 1)) << 4;
}

#endif
