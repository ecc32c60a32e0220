/* Measuring: on a clock that the test turns, then for real on the CPU; peers, operands, rooflines, verdicts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "core/error.h"
#include "lab/bench/bench.h"
#include "lab/bench/verdict.h"
#include "lab/common/compress.h"
#include "lab/common/random.h"
#include "lab/common/stats.h"
#include "lab/verify/reference.h"

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", got, tolerance, want);
}

/* ---- measuring, on a clock of our own ---- */

typedef struct clockwork {
    double now_ns, begin_ns;
    int open; /* between begin and end */
    long samples;
} clockwork;

static tsr_status clock_begin(void *state, void *stream)
{
    (void)stream;
    clockwork *c = state;
    assert_false(c->open);
    c->open = 1;
    c->begin_ns = c->now_ns;
    return TSR_OK;
}

static tsr_status clock_end(void *state, void *stream, double *elapsed_ns)
{
    (void)stream;
    clockwork *c = state;
    assert_true(c->open);
    c->open = 0;
    *elapsed_ns = c->now_ns - c->begin_ns;
    return TSR_OK;
}

static void clock_sample(void *state, lab_clocks *out)
{
    clockwork *c = state;
    assert_false(c->open);
    c->samples++;
    out->clock_mhz = 1000;
    out->power_w = (double)NAN;
}

static const lab_timer_ops clock_ops = {
    .kind = "test", .open = NULL, .close = NULL, .begin = clock_begin, .end = clock_end, .sample = clock_sample};

typedef struct worker {
    clockwork *clock;
    double ns;
    long calls;
    long fails_at; /* 0: never */
    const lab_operand_set *last;
    long repeats; /* calls that got the same operands as the call before */
    volatile sig_atomic_t *stop;
    long stops_at;
} worker;

static tsr_status work(void *user, const lab_operand_set *set)
{
    worker *w = user;
    w->calls++;
    w->clock->now_ns += w->ns;
    w->repeats += set == w->last;
    w->last = set;
    if (w->stop != NULL && w->calls == w->stops_at)
        *w->stop = 1;
    return w->calls == w->fails_at ? tsr_fail(TSR_KERNEL_FAULT, "call %ld failed", w->calls) : TSR_OK;
}

typedef struct bench_fixture {
    clockwork clock;
    lab_timer timer;
    lab_operand_set sets[3];
    lab_operands operands;
    lab_measure_options options;
} bench_fixture;

static void set_up(bench_fixture *f)
{
    memset(f, 0, sizeof *f);
    f->timer = (lab_timer){&clock_ops, &f->clock};
    f->operands.sets = f->sets;
    f->operands.count = 3;
    f->options =
        (lab_measure_options){.timer = &f->timer, .rounds = 10, .round_ns = 1e6, .warm_ns = 1e9, .budget_ns = 1e9};
}

static void rounds_and_calls(void **state)
{
    (void)state;
    bench_fixture f;
    set_up(&f);
    worker quick = {.clock = &f.clock, .ns = 1000}, slow = {.clock = &f.clock, .ns = 3e8};
    worker slower = {.clock = &f.clock, .ns = 5e9};
    lab_contestant c[3] = {
        {.call = work, .user = &quick}, {.call = work, .user = &slow}, {.call = work, .user = &slower}};
    assert_int_equal(lab_measure(&f.options, &f.operands, c, 3), TSR_OK);
    assert_int_equal(c[0].rounds, 10);
    assert_int_equal(c[0].calls, 1000); /* fill 1 ms */
    for (size_t i = 0; i < c[0].rounds; i++)
        near(c[0].round_ns[i], 1000, 1e-3);
    assert_int_equal(c[1].rounds, 3); /* of 0.3 s in a budget of 1 s */
    assert_int_equal(c[1].calls, 1);
    assert_int_equal(c[2].rounds, 1); /* beyond its budget: one call is all it gets */
    assert_int_equal(slower.calls, 1);
    near(c[2].round_ns[0], 5e9, 1);
    near(c[0].clocks.clock_mhz, 1000, 0);
    assert_true(isnan(c[0].clocks.power_w));
    assert_true(quick.calls >= 13000 && quick.repeats < 30); /* operands take turns, between contestants too */
    for (int i = 0; i < 3; i++)
        lab_contestant_clear(&c[i]);
}

static void failures_leave_the_others(void **state)
{
    (void)state;
    bench_fixture f;
    set_up(&f);
    worker good = {.clock = &f.clock, .ns = 1e6}, bad = {.clock = &f.clock, .ns = 1e6, .fails_at = 1};
    worker late = {.clock = &f.clock, .ns = 1e6, .fails_at = 9};
    lab_contestant c[3] = {{.call = work, .user = &bad}, {.call = work, .user = &good}, {.call = work, .user = &late}};
    assert_int_equal(lab_measure(&f.options, &f.operands, c, 3), TSR_OK);
    assert_int_equal(c[0].status, TSR_KERNEL_FAULT);
    assert_string_equal(c[0].message, "call 1 failed");
    assert_int_equal(c[0].rounds, 0);
    assert_int_equal(bad.calls, 1);
    assert_int_equal(c[1].status, TSR_OK);
    assert_int_equal(c[1].rounds, 10);
    assert_int_equal(c[2].status, TSR_KERNEL_FAULT);
    assert_true(c[2].rounds > 0 && c[2].rounds < 10);
    assert_int_equal(late.calls, 9);
    for (int i = 0; i < 3; i++)
        lab_contestant_clear(&c[i]);
}

static void stopping(void **state)
{
    (void)state;
    bench_fixture f;
    set_up(&f);
    volatile sig_atomic_t stop = 0;
    worker w = {.clock = &f.clock, .ns = 1e6, .stop = &stop, .stops_at = 8};
    lab_contestant c = {.call = work, .user = &w};
    f.options.stop = &stop;
    assert_int_equal(lab_measure(&f.options, &f.operands, &c, 1), TSR_OK);
    assert_int_equal(w.calls, 8);
    assert_true(c.rounds > 0 && c.rounds < 10);
    lab_contestant_clear(&c);
    assert_int_equal(lab_measure(&f.options, &f.operands, &c, 1), TSR_OK);
    assert_int_equal(c.rounds, 0);
    lab_contestant_clear(&c);
}

static void real_clock(void **state)
{
    (void)state;
    lab_timer timer;
    double first, second;
    lab_clocks clocks;
    assert_int_equal(lab_timer_open("cpu", &timer), TSR_OK);
    const double begin = lab_now_ns();
    assert_int_equal(timer.ops->begin(timer.state, NULL), TSR_OK);
    while (lab_now_ns() - begin < 2e6)
        ;
    assert_int_equal(timer.ops->end(timer.state, NULL, &first), TSR_OK);
    second = lab_now_ns() - begin;
    assert_true(first >= 1e6 && first <= second);
    timer.ops->sample(timer.state, &clocks);
    assert_true(isnan(clocks.clock_mhz) || (clocks.clock_mhz > 100 && clocks.clock_mhz < 10000));
    assert_true(isnan(clocks.power_w) || clocks.power_w >= 0);
    lab_timer_close(&timer);
    lab_timer_close(&timer);
}

/* ---- operands ---- */

static void operands_rotate(void **state)
{
    (void)state;
    tsr_context *context;
    assert_int_equal(tsr_context_create("cpu", NULL, &context), TSR_OK);
    for (int memory = 0; memory < 2; memory++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 10, 20, 30);
        desc.a.memory = desc.b.memory = desc.c.memory = desc.d.memory = memory ? TSR_DEVICE : TSR_HOST;
        lab_operands o;
        assert_int_equal(lab_operands_create(context, &desc, 100000, 7, &o), TSR_OK);
        const int64_t bytes = 1280 + 2560 + 1024; /* 1200, 2400, 800 rounded up to 256 */
        assert_int_equal(o.set_bytes, bytes);
        assert_int_equal(o.count, (100000 + bytes - 1) / bytes);
        assert_true(o.cold);
        for (size_t i = 0; i < o.count; i++) {
            assert_int_equal((uintptr_t)o.sets[i].a % 256 | (uintptr_t)o.sets[i].b % 256 | (uintptr_t)o.sets[i].d % 256,
                             0);
            assert_memory_equal(o.sets[i].a, o.sets[0].a, 1200);
            assert_memory_equal(o.sets[i].b, o.sets[0].b, 2400);
            assert_true(i == 0 || o.sets[i].a != o.sets[0].a);
        }
        assert_memory_not_equal(o.sets[0].a, o.sets[0].b, 1200);
        lab_operands_free(&o);
        assert_int_equal(lab_operands_create(context, &desc, 0, 7, &o), TSR_OK);
        assert_true(o.count == 1 && !o.cold);
        assert_true(!o.sets[0].bias && !o.sets[0].scale_a && !o.sets[0].scale_b);
        lab_operands_free(&o);
        /* Scales have a place of their own behind the operands: one each, and one for each row and column. */
        assert_int_equal(lab_operands_create_scaled(context, &desc, 1, 7, &o), TSR_OK);
        assert_int_equal(o.set_bytes, bytes + 2 * 256);
        assert_true((char *)o.sets[1].scale_a == (char *)o.sets[1].d + 1024 && !o.sets[1].bias);
        assert_true((char *)o.sets[1].scale_b == (char *)o.sets[1].scale_a + 256);
        assert_memory_equal(o.sets[0].scale_a, o.sets[1].scale_a, sizeof(float));
        lab_operands_free(&o);
        desc.scale_mode_a = desc.scale_mode_b = TSR_SCALE_VECTOR;
        desc.m = 100;
        assert_int_equal(lab_operands_create_scaled(context, &desc, 0, 7, &o), TSR_OK);
        assert_true((char *)o.sets[0].scale_b == (char *)o.sets[0].scale_a + 512);
        assert_true(((const float *)o.sets[0].scale_a)[99] != 0 && ((const float *)o.sets[0].scale_b)[19] != 0);
        lab_operands_free(&o);
        /* Of blocks: 3 along K, in rows of 4 where they are of 128 x 128. */
        desc.scale_mode_a = TSR_SCALE_1X128;
        desc.scale_mode_b = TSR_SCALE_128X128;
        desc.k = 300;
        desc.n = 140;
        assert_int_equal(lab_operands_create_scaled(context, &desc, 0, 7, &o), TSR_OK);
        assert_true((char *)o.sets[0].scale_b == (char *)o.sets[0].scale_a + 1280); /* 100 x 3 */
        assert_true(((const float *)o.sets[0].scale_a)[299] != 0 && ((const float *)o.sets[0].scale_b)[7] != 0);
        assert_true(((const float *)o.sets[0].scale_b)[8] == 0);
        lab_operands_free(&o);
        desc.k = 30;
        desc.n = 20;
        desc.scale_mode_a = desc.scale_mode_b = TSR_SCALE_TENSOR;
        desc.m = 10;
        assert_int_equal(lab_operands_create(context, &desc, 1, 7, &o), TSR_OK);
        assert_true(o.count == 2 && o.cold);
        lab_operands_free(&o);
    }
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 0, 0, 0);
    lab_operands o;
    assert_int_equal(lab_operands_create(context, &desc, 0, 7, &o), TSR_OK);
    lab_operands_free(&o);
    desc = tsr_gemm_desc_make(TSR_F64, INT64_C(1) << 32, INT64_C(1) << 32, 1);
    assert_int_equal(lab_operands_create(context, &desc, 0, 7, &o), TSR_INVALID_ARGUMENT);
    lab_operands_free(&o);
    tsr_context_destroy(context);
}

/* ---- peers ---- */

static void check_peer_problem(const lab_peer_ops *ops, void *peer, tsr_dtype dtype, int layout)
{
    enum { M = 7, N = 5, K = 9, BATCH = 2, LD = 12 };
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, M, N, K);
    desc.a.trans = layout & 1 ? TSR_T : TSR_N;
    desc.b.trans = layout & 2 ? TSR_T : TSR_N;
    desc.a.ld = desc.b.ld = desc.c.ld = desc.d.ld = LD;
    desc.a.batch_stride = desc.b.batch_stride = desc.c.batch_stride = desc.d.batch_stride = LD * LD;
    desc.batch_count = BATCH;
    double a[BATCH * LD * LD], b[BATCH * LD * LD], d[BATCH * LD * LD], c[BATCH * LD * LD];
    const size_t element = tsr_dtype_bytes(dtype);
    lab_fill(LAB_FILL_NORMAL, 0, dtype, a, BATCH * LD * LD, 1);
    lab_fill(LAB_FILL_NORMAL, 0, dtype, b, BATCH * LD * LD, 2);
    lab_fill(LAB_FILL_NORMAL, 0, dtype, d, BATCH * LD * LD, 3);
    memcpy(c, d, sizeof c);
    void *problem;
    int choices = 0;
    assert_int_equal(ops->prepare(peer, &desc, &problem, &choices), TSR_OK);
    assert_int_equal(choices, 1);
    tsr_run_args args = tsr_run_args_make(a, b, d);
    args.alpha.value = 0.5;
    args.beta.value = -1;
    assert_int_equal(ops->run(problem, 0, &args), TSR_OK);
    args.c = c;
    assert_int_equal(ops->run(problem, 0, &args), TSR_UNSUPPORTED); /* C must be D */
    ops->release(problem);
    for (int batch = 0; batch < BATCH; batch++) {
        const size_t skip = (size_t)batch * LD * LD * element;
        const lab_reference_problem p = {M,
                                         N,
                                         K,
                                         dtype,
                                         dtype,
                                         dtype,
                                         layout & 1,
                                         layout >> 1,
                                         LD,
                                         LD,
                                         LD,
                                         (char *)a + skip,
                                         (char *)b + skip,
                                         (char *)c + skip,
                                         0.5,
                                         -1,
                                         1,
                                         0,
                                         NULL,
                                         {0},
                                         {0},
                                         NULL,
                                         NULL,
                                         LAB_NO_TRUNCATION};
        lab_reference_element truth[M * N];
        assert_int_equal(lab_reference(&p, NULL, 0, NULL, 0, truth), TSR_OK);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++)
                near(tsr_load_element(dtype, (char *)d + skip, i * LD + j), truth[i * N + j].value,
                     8 * tsr_dtype_roundoff(dtype) * truth[i * N + j].size);
    }
}

static void cpu_peers_compute(void **state)
{
    (void)state;
    int tried = 0;
    for (size_t i = 0; lab_peer_at(i) != NULL; i++) {
        const lab_peer_ops *ops = lab_peer_at(i);
        void *peer;
        char version[64];
        if (ops->is_cuda || ops == &lab_peer_onednn || ops == &lab_peer_memory || ops->open(0, 1, &peer) != TSR_OK)
            continue; /* not there: cpu_peers_missing looks at that */
        tried++;
        ops->version(peer, version, sizeof version);
        assert_true(strlen(version) > 6);
        for (int layout = 0; layout < 4; layout++) {
            check_peer_problem(ops, peer, TSR_F32, layout);
            check_peer_problem(ops, peer, TSR_F64, layout);
        }
        void *problem;
        int choices;
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F16, 1, 1, 1);
        assert_int_equal(ops->prepare(peer, &desc, &problem, &choices), TSR_UNSUPPORTED);
        desc = tsr_gemm_desc_make(TSR_F32, INT64_C(1) << 31, 1, 1);
        assert_int_equal(ops->prepare(peer, &desc, &problem, &choices), TSR_UNSUPPORTED);
        ops->close(peer);
    }
    if (tried == 0)
        skip();
}

/* A B in two batches, with gaps between the rows. */
static void check_onednn(void *peer, tsr_dtype dtype, int layout)
{
    enum { M = 7, N = 5, K = 9, BATCH = 2, LD = 12 };
    const lab_peer_ops *ops = &lab_peer_onednn;
    tsr_gemm_desc desc = tsr_gemm_desc_make(dtype, M, N, K);
    desc.d.dtype = TSR_F32;
    desc.a.trans = layout & 1 ? TSR_T : TSR_N;
    desc.b.trans = layout & 2 ? TSR_T : TSR_N;
    desc.a.ld = desc.b.ld = desc.d.ld = LD;
    desc.a.batch_stride = desc.b.batch_stride = desc.d.batch_stride = LD * LD;
    desc.batch_count = BATCH;
    float a[BATCH * LD * LD], b[BATCH * LD * LD], d[BATCH * LD * LD];
    lab_fill(LAB_FILL_NORMAL, 0, dtype, a, BATCH * LD * LD, 1);
    lab_fill(LAB_FILL_NORMAL, 0, dtype, b, BATCH * LD * LD, 2);
    lab_fill(LAB_FILL_NORMAL, 0, TSR_F32, d, BATCH * LD * LD, 3);
    void *problem;
    int choices = 0;
    if (ops->prepare(peer, &desc, &problem, &choices) != TSR_OK) {
        assert_int_not_equal(dtype, TSR_F32); /* narrower types need a CPU that has them */
        return;
    }
    tsr_run_args args = tsr_run_args_make(a, b, d);
    assert_int_equal(ops->run(problem, 0, &args), TSR_OK);
    args.alpha.value = 0.5;
    assert_int_equal(ops->run(problem, 0, &args), TSR_UNSUPPORTED);
    ops->release(problem);
    for (int batch = 0; batch < BATCH; batch++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0, size = 0;
                for (int k = 0; k < K; k++) {
                    const int64_t skip = batch * LD * LD;
                    const double x = tsr_load_element(dtype, a, skip + (layout & 1 ? k * LD + i : i * LD + k)) *
                                     tsr_load_element(dtype, b, skip + (layout & 2 ? j * LD + k : k * LD + j));
                    sum += x;
                    size += fabs(x);
                }
                near((double)d[batch * LD * LD + i * LD + j], sum, 8 * tsr_dtype_roundoff(TSR_F32) * size);
            }
}

static void onednn_computes(void **state)
{
    (void)state;
    void *peer;
    char version[64];
    if (lab_peer_onednn.open(0, 1, &peer) != TSR_OK)
        skip();
    lab_peer_onednn.version(peer, version, sizeof version);
    assert_memory_equal(version, "oneDNN ", 7);
    for (int layout = 0; layout < 4; layout++) {
        check_onednn(peer, TSR_F32, layout);
        check_onednn(peer, TSR_BF16, layout);
    }
    void *problem;
    int choices;
    const tsr_gemm_desc wide = tsr_gemm_desc_make(TSR_F64, 1, 1, 1);
    assert_int_equal(lab_peer_onednn.prepare(peer, &wide, &problem, &choices), TSR_UNSUPPORTED);
    lab_peer_onednn.close(peer);
}

static void cpu_peers_missing(void **state)
{
    (void)state;
    void *peer;
    setenv("TESSERA_ONEDNN_PATH", "/nonexistent/libdnnl.so", 1);
    assert_int_equal(lab_peer_onednn.open(0, 1, &peer), TSR_NO_DEVICE);
    setenv("TESSERA_ONEDNN_PATH", "libm.so.6", 1);
    assert_int_equal(lab_peer_onednn.open(0, 1, &peer), TSR_UNSUPPORTED);
    assert_string_equal(tsr_last_error(), "oneDNN lacks functions of versions 2 and 3");
    unsetenv("TESSERA_ONEDNN_PATH");
    setenv("TESSERA_OPENBLAS_PATH", "/nonexistent/libblas.so", 1);
    assert_int_equal(lab_peer_openblas.open(0, 1, &peer), TSR_NO_DEVICE);
    assert_string_equal(tsr_last_error(),
                        "OpenBLAS: TESSERA_OPENBLAS_PATH = \"/nonexistent/libblas.so\" cannot be loaded");
    setenv("TESSERA_OPENBLAS_PATH", "libm.so.6", 1);
    assert_int_equal(lab_peer_openblas.open(0, 1, &peer), TSR_UNSUPPORTED);
    assert_string_equal(tsr_last_error(), "OpenBLAS has no cblas_sgemm and cblas_dgemm");
    unsetenv("TESSERA_OPENBLAS_PATH");
}

/* ---- cells ---- */

static void cell_on_cpu(void **state)
{
    (void)state;
    lab_bench bench;
    assert_int_equal(lab_bench_open("cpu", 1, &bench), TSR_OK);
    assert_non_null(strstr(bench.label, ", 1 thread"));
    assert_int_equal(lab_bench_add_peer(&bench, &lab_peer_cublas), TSR_UNSUPPORTED);
    const int with_peer = lab_bench_add_peer(&bench, &lab_peer_openblas) == TSR_OK;
    lab_entry entries[5];
    memset(entries, 0, sizeof entries);
    entries[0].kernel = "cpu-sequential";
    entries[1].kernel = "cpu_tiled_f32";
    entries[3].kernel = "tiled"; /* a GPU's */
    entries[4].kernel = "cpu-tiled";
    strcpy(entries[4].reason, "left out");
    lab_cell cell = {
        .types = {.a = TSR_F32}, .trans_b = 1, .shape = {40, 50, 60, 1}, .entries = entries, .entry_count = 5};
    const lab_bench_options options = {.rounds = 6, .budget_s = 5, .seed = 1};
    assert_int_equal(lab_cell_measure(&bench, &cell, &options), TSR_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(entries[i].timing.rounds, 6);
        assert_string_equal(entries[i].reason, "");
    }
    assert_string_equal(entries[0].instance, "cpu_sequential_f32");
    assert_string_equal(entries[2].instance, "cpu_tiled_f32"); /* the library's own choice */
    assert_true(entries[3].timing.rounds == 0 && entries[3].reason[0] != '\0');
    assert_true(entries[4].timing.rounds == 0 && entries[4].instance[0] == '\0');
    assert_false(cell.cold);
    assert_int_equal(cell.rival_count, with_peer);

    const lab_baseline baseline = {1e6, 1};
    const lab_record r =
        lab_cell_record(&bench, &cell, &entries[1], with_peer ? &cell.rivals[0] : NULL, &baseline, &options);
    assert_string_equal(r.kernel, "cpu_tiled_f32");
    assert_string_equal(r.layout, "nt");
    assert_string_equal(r.dtype, "f32");
    assert_string_equal(r.device, bench.label);
    assert_true(r.m == 40 && r.n == 50 && r.k == 60);
    assert_true(r.time_us > 0 && r.time_us_min <= r.time_us && r.spread >= 0);
    near(r.gflops, 2.0 * 40 * 50 * 60 / (r.time_us * 1e3), 1e-9 * r.gflops);
    near(r.gbps, 4.0 * (40 * 60 + 60 * 50 + 40 * 50) / (r.time_us * 1e3), 1e-9 * r.gbps);
    near(r.peak_pct, 100 * r.gflops * 1e9 / bench.device.peak_flops_f32, 1e-9 * r.peak_pct);
    near(r.speedup, 1e3 / r.time_us, 1e-9 * r.speedup);
    assert_true(r.speedup_scaled && r.date[4] == '-' && strlen(r.date) == 10 && r.commit[0] != '\0');
    if (with_peer) {
        assert_true(r.peer_time_us > 0 && r.ratio_lo <= r.ratio && r.ratio <= r.ratio_hi);
        near(r.ratio, r.peer_time_us / r.time_us, 1e-9);
        assert_true(isnan(r.ratio_best) && isnan(r.peer_best_time_us)); /* one choice is no choice */
    }
    lab_cell_clear(&cell);
    lab_bench_close(&bench);
    lab_bench_close(&bench);
}

/* Which types have them is the library's rule, and the product has them. */
static void cell_with_scales(void **state)
{
    (void)state;
    lab_bench bench;
    lab_scales_given scales = LAB_SCALES_TENSOR;
    assert_true(lab_scales_named("", &scales) && scales == LAB_SCALES_NONE);
    assert_true(lab_scales_named("vector", &scales) && scales == LAB_SCALES_VECTOR);
    assert_false(lab_scales_named("vectors", &scales));
    assert_int_equal(lab_scales_check(LAB_SCALES_NONE, &(lab_types){.a = TSR_F32}), TSR_OK);
    assert_int_equal(lab_scales_check(LAB_SCALES_TENSOR, &(lab_types){.a = TSR_E5M2}), TSR_OK);
    assert_int_equal(lab_scales_check(LAB_SCALES_VECTOR, &(lab_types){.a = TSR_S8, .d = TSR_BF16}), TSR_OK);
    assert_int_equal(lab_scales_check(LAB_SCALES_TENSOR, &(lab_types){.a = TSR_BF16}), TSR_UNSUPPORTED);
    assert_string_equal(tsr_last_error(), "only operands of 8 bits have scales, not bf16");
    assert_int_equal(lab_scales_check(LAB_SCALES_TENSOR, &(lab_types){.a = TSR_U8}), TSR_UNSUPPORTED);
    assert_string_equal(tsr_last_error(), "a result in s32 takes no scales; D.dtype = f32, f16 or bf16");
    assert_int_equal(lab_scales_check(LAB_SCALES_1X128, &(lab_types){.a = TSR_S8, .d = TSR_BF16}), TSR_UNSUPPORTED);
    assert_string_equal(tsr_last_error(), "only 8-bit floats have scales of blocks, not s8");
    assert_int_equal(lab_scales_check(LAB_SCALES_1X128, &(lab_types){.a = TSR_E4M3, .compute = TSR_COMPUTE_FAST}),
                     TSR_UNSUPPORTED);
    assert_int_equal(lab_bench_open("cpu", 1, &bench), TSR_OK);
    const int with_peer = lab_bench_add_peer(&bench, &lab_peer_memory) == TSR_OK;
    for (int s = LAB_SCALES_NONE; s <= LAB_SCALES_1X128_128X128; s++) {
        const lab_bench_options options = {.rounds = 2, .budget_s = 5, .seed = 1};
        const lab_baseline baseline = {1e6, 0};
        lab_entry entry = {.kernel = "cpu-tiled"};
        lab_cell cell = {.types = {.a = TSR_E4M3},
                         .scales = (lab_scales_given)s,
                         .trans_b = 1,
                         .shape = {16, 32, 64, 3},
                         .entries = &entry,
                         .entry_count = 1};
        const tsr_gemm_desc desc = lab_cell_desc(&bench, &cell);
        static const tsr_scale_mode modes[] = {TSR_SCALE_TENSOR, TSR_SCALE_TENSOR, TSR_SCALE_VECTOR, TSR_SCALE_1X128,
                                               TSR_SCALE_1X128};
        assert_int_equal(desc.scale_mode_a, modes[s]);
        assert_int_equal(desc.scale_mode_b, s == LAB_SCALES_1X128_128X128 ? TSR_SCALE_128X128 : modes[s]);
        assert_int_equal(lab_cell_measure(&bench, &cell, &options), TSR_OK);
        assert_string_equal(entry.reason, "");
        assert_int_equal(entry.timing.rounds, 2);
        const lab_record r = lab_cell_record(&bench, &cell, &entry, NULL, &baseline, &options);
        assert_string_equal(r.scales, s == LAB_SCALES_NONE ? "" : lab_scales_word((lab_scales_given)s));
        if (with_peer && s != LAB_SCALES_NONE)
            assert_string_equal(cell.rivals[0].reason, "it is not measured with scales");
        lab_cell_clear(&cell);
    }
    lab_bench_close(&bench);
}

/* Of kernels that take no other: a product of random numbers, of each four of which two are left. */
static void a_compressed_operand_is_made(void **state)
{
    (void)state;
    enum { SIDE = 64 };
    static uint16_t b[SIDE * SIDE], d[SIDE * SIDE];
    tsr_context *context;
    tsr_plan *plan;
    tsr_prepared *prepared = NULL;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, SIDE, SIDE, SIDE);
    if (tsr_context_create("emu", NULL, &context) != TSR_OK)
        skip(); /* a build without it */
    desc.flags = TSR_SPARSE24_A;
    assert_int_equal(tsr_plan_create(context, &desc, &plan), TSR_OK);
    tsr_run_args args = tsr_run_args_make(d, b, d);
    assert_int_equal(lab_compress(plan, &desc, &args, &prepared), TSR_OK);
    assert_ptr_equal(args.prepared_a, prepared);
    assert_null(args.a);
    for (int i = 0; i < SIDE; i++)
        b[i * SIDE + i] = tsr_f32_to_bf16(1);
    assert_int_equal(tsr_plan_run(plan, &args), TSR_OK);
    for (int i = 0; i < SIDE * SIDE; i += 4) {
        int kept = 0;
        for (int j = 0; j < 4; j++)
            kept += (d[i + j] & 0x7fff) != 0;
        assert_int_equal(kept, 2);
    }
    tsr_prepared_release(prepared);
    tsr_plan_release(plan);
    tsr_context_destroy(context);
}

static void emulator_is_not_measured(void **state)
{
    (void)state;
    lab_bench bench;
    assert_int_equal(lab_bench_open("emu", 0, &bench), TSR_UNSUPPORTED);
    assert_non_null(strstr(tsr_last_error(), "say nothing about a GPU"));
    lab_bench_close(&bench);
}

static void baselines(void **state)
{
    (void)state;
    const lab_types f32 = {.a = TSR_F32};
    const lab_baseline small = lab_baseline_measure(&f32, 0, 0, (lab_shape){64, 64, 64, 1}, 0);
    assert_true(small.ns > 1e3 && small.ns < 1e9 && !small.scaled);
    const lab_baseline tall = lab_baseline_measure(&f32, 0, 0, (lab_shape){INT64_C(1) << 30, 64, 64, 1}, 0);
    assert_true(tall.scaled && tall.ns > 1e4 * small.ns);
    assert_true(lab_baseline_measure(&f32, 0, 0, (lab_shape){256, 256, 256, 1}, 1).scaled);
    assert_true(lab_baseline_measure(&(lab_types){.a = TSR_S8, .b = TSR_U8}, 0, 0, (lab_shape){8, 8, 8, 1}, 0).ns > 0);
    assert_true(isnan(lab_baseline_measure(&(lab_types){.a = TSR_S32}, 0, 0, (lab_shape){8, 8, 8, 1}, 0).ns));
}

/* ---- devices and rooflines ---- */

static void a100(lab_device *d)
{
    memset(d, 0, sizeof *d);
    d->is_cuda = 1;
    d->l2_bytes = 40 << 20;
    d->peak_flops_f32 = 108 * 64 * 1.41e9 * 2;
    d->peak_flops_f64 = d->peak_flops_f32 / 2;
    d->memory_bytes_per_s = 2e12;
}

static void rooflines(void **state)
{
    (void)state;
    lab_device d;
    a100(&d);
    near(d.peak_flops_f32, 19.5e12, 0.05e12);
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 1024, 1024, 1024);
    lab_roofline r = lab_roofline_of(&d, &desc, 0);
    near(r.flops, 2147483648.0, 0);
    near(r.bytes, 3.0 * 4 * 1024 * 1024, 0);
    near(r.intensity, 1024.0 / 6, 1e-9);
    near(r.ridge, 9.75, 0.02);
    assert_false(r.memory_bound);
    near(r.bound_flops_s, d.peak_flops_f32, 0);
    near(lab_roofline_of(&d, &desc, 1).bytes, 4.0 * 4 * 1024 * 1024, 0);

    desc = tsr_gemm_desc_make(TSR_F32, 1, 4096, 4096);
    r = lab_roofline_of(&d, &desc, 0);
    assert_true(r.memory_bound);
    near(r.bound_flops_s, r.intensity * 2e12, 1);
    near(lab_peak_percent(&d, &desc, r.flops / d.peak_flops_f32 * 1e9), 100, 1e-9);

    desc = tsr_gemm_desc_make(TSR_F64, 8, 8, 8);
    near(lab_roofline_of(&d, &desc, 0).ridge, d.peak_flops_f64 / 2e12, 1e-9);
    d.peak_flops_f64_tensor = 2 * d.peak_flops_f64;
    near(lab_roofline_of(&d, &desc, 0).ridge, d.peak_flops_f64_tensor / 2e12, 1e-9);
    desc = tsr_gemm_desc_make(TSR_F16, 8, 8, 8);
    near(lab_peak_flops(&d, TSR_COMPUTE_F32, TSR_F32), d.peak_flops_f32, 0);
    desc.compute = TSR_COMPUTE_TF32;
    assert_true(isnan(lab_peak_percent(&d, &desc, 1)));
    desc = tsr_gemm_desc_make(TSR_F32, 0, 8, 8);
    r = lab_roofline_of(&d, &desc, 0);
    assert_true(r.flops == 0 && r.intensity == 0);
    assert_int_equal(lab_device_cache_bytes(&d), 40 << 20);
    d.is_cuda = 0;
    d.l3_bytes = 99;
    assert_int_equal(lab_device_cache_bytes(&d), 99);
}

static void this_machine(void **state)
{
    (void)state;
    lab_device d;
    assert_int_equal(lab_device_describe("cpu", &d), TSR_OK);
    assert_string_equal(d.id, "cpu");
    assert_true(d.name[0] != '\0' && d.threads >= 1 && d.peak_flops_f32 >= 1e8 && d.peak_flops_f64 >= 5e7);
    assert_true(!d.is_cuda && !d.is_emu && d.memory_bytes_per_s > 1e8);
    static const char *const bad[] = {"", "auto", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(lab_device_describe(bad[i], &d), TSR_INVALID_ARGUMENT);
        assert_non_null(strstr(tsr_last_error(), "must be cpu, cuda:N or emu"));
    }
}

/* ---- verdicts ---- */

static void verdicts(void **state)
{
    (void)state;
    assert_int_equal(lab_decide_speed((lab_interval){1.05, 1.1, 1.2}), LAB_FASTER);
    assert_int_equal(lab_decide_speed((lab_interval){0.7, 0.8, 0.9}), LAB_SLOWER);
    assert_int_equal(lab_decide_speed((lab_interval){0.99, 1.0, 1.01}), LAB_SAME);
    assert_int_equal(lab_decide_speed((lab_interval){1.001, 1.01, 1.02}), LAB_SAME); /* surely faster, by nothing */
    assert_int_equal(lab_decide_speed((lab_interval){0.9, 1.0, 1.1}), LAB_UNDECIDED);
    assert_int_equal(lab_decide_speed((lab_interval){1.01, 1.05, 1.1}), LAB_FASTER);
    assert_int_equal(lab_decide_speed((lab_interval){NAN, 2, NAN}), LAB_UNDECIDED);
    assert_string_equal(lab_verdict_text(LAB_UNDECIDED), "undecided");
}

static void comparisons(void **state)
{
    (void)state;
    lab_record old = lab_record_make(), new = lab_record_make();
    old.time_us = 100;
    old.spread = 0.02;
    new.time_us = 50;
    const lab_interval now = {49, 50, 51};
    lab_comparison c = lab_compare(&old, &new, now, 30);
    assert_int_equal(c.verdict, LAB_FASTER);
    near(c.speed.mid, 2, 1e-12);
    near(c.speed.lo, 100 * (1 - 1.96 * 1.2533 * 0.02 / sqrt(30)) / 51, 1e-9);
    assert_false(c.by_peer);
    /* The old line's own rounds count, not those of today. */
    old.rounds = 5;
    near(lab_compare(&old, &new, now, 30).speed.lo, 100 * (1 - 1.96 * 1.2533 * 0.02 / sqrt(5)) / 51, 1e-9);
    /* Our time halved, but the peer's did too: the machine changed, not we. */
    strcpy(old.peer, "BLAS 1");
    strcpy(new.peer, "BLAS 1");
    old.ratio = new.ratio = 1.5;
    old.ratio_lo = new.ratio_lo = 1.49;
    old.ratio_hi = new.ratio_hi = 1.51;
    c = lab_compare(&old, &new, now, 30);
    assert_int_equal(c.verdict, LAB_SAME);
    assert_true(c.by_peer);
    strcpy(new.peer, "BLAS 2");
    assert_false(lab_compare(&old, &new, now, 30).by_peer);
    old.spread = (double)NAN;
    assert_int_equal(lab_compare(&old, &new, now, 30).verdict, LAB_UNDECIDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_and_calls),
        cmocka_unit_test(failures_leave_the_others),
        cmocka_unit_test(stopping),
        cmocka_unit_test(real_clock),
        cmocka_unit_test(operands_rotate),
        cmocka_unit_test(cpu_peers_compute),
        cmocka_unit_test(onednn_computes),
        cmocka_unit_test(cpu_peers_missing),
        cmocka_unit_test(cell_with_scales),
        cmocka_unit_test(cell_on_cpu),
        cmocka_unit_test(emulator_is_not_measured),
        cmocka_unit_test(a_compressed_operand_is_made),
        cmocka_unit_test(baselines),
        cmocka_unit_test(rooflines),
        cmocka_unit_test(this_machine),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(comparisons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
