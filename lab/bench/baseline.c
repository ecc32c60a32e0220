#include "lab/bench/baseline.h"

#include <math.h>

#include "lab/bench/measure.h"
#include "lab/common/operands.h"
#include "lab/common/stats.h"

#define CHEAP_PRODUCTS 0x1p27 /* 512^3: some tenths of a second */
#define BRIEF_PRODUCTS 0x1p22 /* some milliseconds */
#define ROUNDS         5

/* One problem of the batch; halves its largest side until it is cheap. */
static lab_shape shrink(lab_shape shape, double products)
{
    shape.batch = 1;
    while (lab_shape_products(shape) > products) {
        int64_t *largest = &shape.m;
        if (shape.n > *largest)
            largest = &shape.n;
        if (shape.k > *largest)
            largest = &shape.k;
        *largest /= 2;
    }
    return shape;
}

typedef struct sequential {
    tsr_context *context;
    tsr_gemm_desc desc;
} sequential;

static tsr_status call_sequential(void *user, const lab_operand_set *set)
{
    const sequential *s = user;
    const tsr_run_args args = tsr_run_args_make(set->a, set->b, set->d);
    return tsr_gemm(s->context, &s->desc, &args);
}

/* Median of a few rounds, NAN if it cannot be run. */
static double measure(sequential *s)
{
    lab_operands operands;
    lab_timer timer;
    lab_contestant contestant = {.call = call_sequential, .user = s};
    const lab_measure_options options = {
        .timer = &timer, .rounds = ROUNDS, .round_ns = 2e6, .warm_ns = 2e7, .budget_ns = 1e9};
    double ns = (double)NAN;
    if (lab_operands_create(s->context, &s->desc, 0, 1, &operands) != TSR_OK)
        return ns;
    if (lab_timer_open("cpu", &timer) == TSR_OK) {
        if (lab_measure(&options, &operands, &contestant, 1) == TSR_OK)
            ns = lab_median(contestant.round_ns, contestant.rounds);
        lab_contestant_clear(&contestant);
        lab_timer_close(&timer);
    }
    lab_operands_free(&operands);
    return ns;
}

lab_baseline lab_baseline_measure(const lab_types *types, int trans_a, int trans_b, lab_shape shape, int brief)
{
    const lab_shape small = shrink(shape, brief ? BRIEF_PRODUCTS : CHEAP_PRODUCTS);
    lab_baseline baseline = {(double)NAN, lab_shape_products(small) < lab_shape_products(shape)};
    sequential s;
    if (tsr_context_create("cpu", NULL, &s.context) != TSR_OK)
        return baseline;
    s.desc = tsr_gemm_desc_make(types->a, small.m, small.n, small.k);
    lab_types_put(types, &s.desc);
    s.desc.compute = TSR_COMPUTE_DEFAULT; /* what a CPU does in any case */
    s.desc.a.trans = trans_a ? TSR_T : TSR_N;
    s.desc.b.trans = trans_b ? TSR_T : TSR_N;
    s.desc.kernel = "cpu-sequential";
    baseline.ns = measure(&s);
    if (baseline.scaled)
        baseline.ns *= lab_shape_products(shape) / lab_shape_products(small);
    tsr_context_destroy(s.context);
    return baseline;
}
