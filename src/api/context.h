/* What a context and a plan hold. */
#ifndef TSR_API_CONTEXT_H
#define TSR_API_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/staging.h"
#include "plan/plan.h"

typedef struct tsr_plan_cache tsr_plan_cache;

struct tsr_context {
    atomic_int references; /* its creator's, until tsr_context_destroy, and one of each prepared operand */
    tsr_target targets[TSR_MAX_TARGETS];
    size_t target_count;
    tsr_target *home; /* where tsr_device_alloc allocates: the GPU if there is one */
    tsr_allocator allocator;
    void (*log)(const char *line, void *user);
    void *user;
    tsr_plan_cache *cache;
    int process;                      /* that opened it: in the child of a fork a GPU is of no use */
    tsr_small small[TSR_DTYPE_COUNT]; /* the first target's small paths, see small.h; zeros: none */
    tsr_staging staging;
};

/* What every run of a plan for a small product on host memory shares, see small.h. */
typedef struct tsr_small_path {
    tsr_small_plan
        *small; /* one block of malloc; NULL: all checks are made for each run, and the config's `run` is called */
    long long a_bytes, b_bytes, c_bytes, d_bytes; /* from the first to the last element */
    uintptr_t a_below, b_below, c_below, d_below; /* promised alignments less 1 */
    int c_like_d;                                 /* C and D have the same leading dimension */
} tsr_small_path;

struct tsr_plan {
    tsr_context *context;
    tsr_small_path small_path;
    tsr_planned planned;
    atomic_int references;
};

/* tsr_context_create, where the CPU is taken to be as `cpu` says (NULL: as it is found). */
tsr_status tsr_context_open(const char *device, const tsr_context_options *options, const tsr_cpu_profile *cpu,
                            tsr_context **out);
/* Makes `context` the default one and returns the one that was, either of which may be NULL; for tests, while no other
 * thread calls. */
tsr_context *tsr_default_context_exchange(tsr_context *context);

/* One operand of a problem, ready for every plan on the same device whose operand is as large, of the same type and
 * stored the same way; on a GPU, whose kernel reads it the same way. */
struct tsr_prepared {
    tsr_context *context; /* holds a reference */
    tsr_target *target;
    tsr_problem problem;      /* that it was made for */
    const tsr_config *config; /* likewise */
    char operand;
    tsr_trans copy_trans; /* as the copy on a GPU lies */
    int is_sparse24;      /* compressed: values and metadata in packed[0], or on_device as kernels read them */
    void *on_device;      /* the padded copy of a GPU's operand; NULL: packed in host memory */
    /* On the CPU, by form: that of `problem`, and others from their first use on. */
    _Atomic(void *) packed[TSR_PACKED_FORMS];
};

/* Why the plan cannot use it as operand `which`, TSR_OK if it can. */
tsr_status tsr_prepared_check(const tsr_prepared *prepared, const tsr_plan *plan, char which);
/* TSR_TRANSPOSE_A or _B if it is a copy on a GPU that lies the other way than the plan's operand, else 0; NULL is fine.
 */
unsigned tsr_prepared_bits(const tsr_prepared *prepared, const tsr_plan *plan);
/* What runs of the plan read; another form than before is made now. */
tsr_status tsr_prepared_form(tsr_prepared *prepared, const tsr_plan *plan, const void **out);

/* Plans by problem, at most `entries` of them, the least recently used one evicted. Thread-safe, and usable in the
 * child of a fork. */
tsr_plan_cache *tsr_plan_cache_create(size_t entries);
void tsr_plan_cache_destroy(tsr_plan_cache *cache);
/* The cached plan with a new reference for the caller, or NULL: not there, or not to be had now. */
tsr_plan *tsr_plan_cache_find(tsr_plan_cache *cache, const tsr_problem *problem);
/* Keeps a reference of its own. When another thread was faster, returns that thread's plan with a reference for the
 * caller and releases `plan`; otherwise returns `plan`. */
tsr_plan *tsr_plan_cache_insert(tsr_plan_cache *cache, const tsr_problem *problem, tsr_plan *plan);

/* The problem's plan, from the cache or made, with a reference for the caller. */
tsr_status tsr_plan_of(tsr_context *context, const tsr_problem *problem, tsr_plan **out);
/* How many of the context's devices a new plan may use: in the child of a fork a GPU beside the CPU is none. */
size_t tsr_usable_targets(const tsr_context *context);

/* A one-line call with all checks, on the default context, where the small path has been tried (tsr_small_call). */
tsr_small_call tsr_one_line_checked;
/* tsr_gemm with all checks, where the small path has been tried. */
tsr_status tsr_gemm_checked(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args);

/* Runs the plan. Operands that the device cannot read are copied in and out, and the call waits. */
tsr_status tsr_run_inputs(tsr_plan *plan, const tsr_plan_inputs *inputs);
/* The same with a workspace of its own; waits. */
tsr_status tsr_run_with_workspace(tsr_plan *plan, const tsr_plan_inputs *inputs);
/* Copies operand 'a' or 'b' to aligned rows in new memory of the plan's GPU; waits. */
tsr_status tsr_prepare_on_device(tsr_plan *plan, char which, const void *data, size_t bytes, void **out);
/* Makes the first bytes of a new buffer zero, as the counters of a workspace must be. */
tsr_status tsr_zero_counters(tsr_target *target, void *buffer, size_t buffer_bytes, void *stream);

#endif
