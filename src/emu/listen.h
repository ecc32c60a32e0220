/* What the CTAs of a launch do, told as it happens, for those who explain kernels in which several parties work at
 * once: threads, the copy engine, the tensor cores. trace.h has what single threads do in more detail.
 *
 * One worker runs such a launch, so events come one after another, in an order in which they may happen. The emulator's
 * copy engine and tensor cores are as late as the kernel allows: when something happens says nothing about time. */
#ifndef TSR_EMU_LISTEN_H
#define TSR_EMU_LISTEN_H

#include <stddef.h>
#include <stdint.h>

#include "core/device.h"
#include "core/tensor_spec.h"

typedef enum tsr_event_kind {
    TSR_EVENT_READ, /* a thread, of shared or global memory */
    TSR_EVENT_WRITE,
    TSR_EVENT_COPY, /* cp.async: from `from`, to `at` in shared memory */
    TSR_EVENT_FMA,
    TSR_EVENT_FRAGMENTS, /* a warp multiplies `fragments`, by mma.sync or wmma */
    TSR_EVENT_MMA,       /* mma.sync or wmma: `bytes` has the operations of this lane */
    TSR_EVENT_SYNC,      /* comes to the barrier of all threads of the CTA */
    TSR_EVENT_ATOMIC,    /* at a word of global memory, `number` before, to which `bytes` (0: nothing) is added */
    TSR_EVENT_REMOTE,    /* reads (`number` 0) or writes (1) shared memory of CTA `other` of the cluster */
    TSR_EVENT_BOX,      /* asks for a box, or for bytes, to shared memory of CTA `other`, counted at `mbarrier` there */
    TSR_EVENT_LAND,     /* the box, or what a CTA sent, has arrived in this CTA's shared memory */
    TSR_EVENT_SEND,     /* asks for bytes of its shared memory to be sent to CTA `other`; counted as a box's */
    TSR_EVENT_STORE,    /* asks for a box, or bytes, of shared memory to go to global memory */
    TSR_EVENT_STORED,   /* a thread learns that its stores have read shared memory */
    TSR_EVENT_INIT,     /* an mbarrier counts `number` arrivals from now on */
    TSR_EVENT_ARRIVE,   /* at an mbarrier of CTA `other`; `bytes` more are expected there */
    TSR_EVENT_COMPLETE, /* phase `number` of this CTA's mbarrier, counted from 0 */
    TSR_EVENT_WAIT,     /* a thread comes to wait for the end of phase `number`, */
    TSR_EVENT_PASS,     /* and goes on */
    TSR_EVENT_PRODUCT,  /* a warp group issues a wgmma; its first thread is `thread` */
    TSR_EVENT_COMMIT,   /* it commits its batch `number`, counted from 0 */
    TSR_EVENT_FINISH,   /* a thread has waited for its group's batches below `number` */
    TSR_EVENT_NAMED,    /* a thread comes to named barrier `number` of `at` threads; `bytes` is 1 if it waits there */
    TSR_EVENT_NAMED_PASS, /* and goes on */
    TSR_EVENT_CLUSTER,    /* a thread comes to the cluster's barrier, */
    TSR_EVENT_CLUSTER_PASS,
    TSR_EVENT_REGISTERS /* setmaxnreg to `number` */
} tsr_event_kind;

/* What a wgmma reads and adds to: 64 x n sums from A, 64 x k, and B, k x n. */
typedef struct tsr_event_product {
    const char *types; /* "f32.bf16.bf16" */
    int n, k, element_bytes;
    int accumulate;     /* 0: its sums begin here */
    int a_in_registers; /* A is not read from shared memory */
    int mn_major_a, mn_major_b;
    unsigned a_at, b_at; /* where the operands begin in the CTA's shared memory */
    unsigned row_bytes;  /* of the swizzle of B */
} tsr_event_product;

/* What a warp multiplies: A, rows x k, and B, k x columns, row by row, as floats. */
typedef struct tsr_event_fragments {
    const float *a, *b;
    int rows, columns, k;
} tsr_event_fragments;

typedef struct tsr_event {
    tsr_event_kind kind;
    int is_shared;        /* READ, WRITE: `at` is an offset in the CTA's shared memory; else an address */
    long long cta, other; /* of the grid, x fastest */
    unsigned thread;      /* x + y * blockDim.x, of `cta`; LAND, COMPLETE: nobody's */
    unsigned number;      /* see above */
    const void *place;    /* return address, for tsr_emu_trace_place */
    uintptr_t at;         /* an address, or an offset in the shared memory of `other` (BOX, ARRIVE, SEND) or `cta` */
    uintptr_t from;       /* COPY: an address */
    uintptr_t mbarrier;   /* an offset as `at` */
    size_t bytes;
    const tsr_tensor_spec *box;           /* BOX, LAND, STORE: of the tensor map; NULL where only bytes go */
    const long long *box_at;              /* coordinates of its first element, as many as the map's rank */
    unsigned multicast;                   /* BOX: the CTAs of the cluster that get it; 0: only the one that asks */
    const tsr_event_product *product;     /* PRODUCT */
    const tsr_event_fragments *fragments; /* FRAGMENTS */
    int is_reduction;                     /* STORE: adds to what is there */
} tsr_event;

typedef struct tsr_emu_listener {
    void *user;
    /* `event` lives until the call returns. */
    void (*event)(void *user, const tsr_event *event);
} tsr_emu_listener;

/* The next launches on this device, which must be an emulator, are listened to; NULL: no longer. Not for a device that
 * other threads use at the same time. */
void tsr_emu_listen(tsr_device *device, const tsr_emu_listener *listener);

/* ---- what the twins of tensor-core instructions know, for those who draw it ---- */

/* Row and column of register `index` of thread `thread` (0 to 127) of a warp group's 64 x N sums. */
void tsr_emu_fragment_place(unsigned thread, unsigned index, unsigned *row, unsigned *column);
/* Where the byte at `offset` of a box at `at` in shared memory lies with a swizzle over so many bytes (0: none). */
size_t tsr_emu_swizzled(size_t at, size_t offset, unsigned swizzle_bytes);

#endif
