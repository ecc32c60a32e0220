/* No bound lies below what was measured: each record of a GPU in perf/, and the peer's time in it, against the
 * problem's own roofline, and each record against its kernel's where the kernel's counters are recorded or can be had
 * in a second; at the clock that was recorded with it.
 */
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab/bench/report.h"
#include "lab/predict/measured_pairs.h"
#include "lab/roofline/roofpoint.h"

static lab_records *files;
static size_t n_files;
static lab_pair *pairs;
static size_t n_pairs;

static int read_pairs(void)
{
    static char line[1 << 14];
    FILE *file = fopen(PERF_FOLDER "/h200-pairs.txt", "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file)) {
        lab_pair *more = realloc(pairs, (n_pairs + 1) * sizeof *more);
        if (!more || !lab_pair_read(line, &more[n_pairs]))
            return -1;
        pairs = more;
        n_pairs++;
    }
    return fclose(file);
}

static int read_records(void **unused)
{
    glob_t names;
    (void)unused;
    if (glob(PERF_FOLDER "/h200*.jsonl", 0, NULL, &names) != 0 ||
        glob(PERF_FOLDER "/h100*.jsonl", GLOB_APPEND, NULL, &names) != 0)
        return -1;
    files = calloc(names.gl_pathc, sizeof *files);
    for (n_files = 0; files && n_files < names.gl_pathc; n_files++)
        if (lab_records_read(names.gl_pathv[n_files], &files[n_files]) != TSR_OK)
            return -1;
    globfree(&names);
    return files ? read_pairs() : -1;
}

static int free_records(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < n_files; i++)
        lab_records_free(&files[i]);
    free(files);
    free(pairs);
    return 0;
}

static const lab_gpu_spec *h200(void)
{
    return lab_gpu_spec_find("h200");
}

/* The records' devices are H200s and H100s. */
static const lab_gpu_spec *gpu_of(const lab_record *record)
{
    return strstr(record->device, "H100") ? lab_gpu_spec_find("h100") : h200();
}

static double clock_of(const lab_record *record)
{
    return isfinite(record->clock_mhz) ? record->clock_mhz * 1e6 : 0;
}

/* The record's problem, of a kernel that this build has no more: by its type, with a result of as few bytes, so that
 * the bound is if anything too high. */
static int describe_by_type(const lab_record *record, tsr_gemm_desc *desc)
{
    static const tsr_dtype dtypes[] = {TSR_F64, TSR_F32, TSR_F16, TSR_BF16, TSR_E4M3, TSR_E5M2, TSR_S8, TSR_U8};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(record->dtype, tsr_dtype_name(dtypes[i])) == 0) {
            *desc = tsr_gemm_desc_make(dtypes[i], record->m, record->n, record->k);
            desc->batch_count = record->batch;
            return 1;
        }
    return 0;
}

/* The types of the record's kernel, and its problem. */
static int describe(const lab_record *record, tsr_gemm_desc *desc)
{
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    for (size_t i = 0; tsr_kernel(i, &info) == TSR_OK; i++)
        if (strcmp(info.instance, record->kernel) == 0) {
            if (strstr(info.name, "sparse24")) /* half of what is counted is multiplied */
                return 0;
            *desc = tsr_gemm_desc_make(info.dtype_ab, record->m, record->n, record->k);
            desc->c.dtype = desc->d.dtype = info.dtype_cd;
            desc->compute = info.compute;
            desc->batch_count = record->batch;
            desc->kernel = info.instance;
            return 1;
        }
    return describe_by_type(record, desc);
}

static void is_not_below(const lab_record *record, const char *kernel, double gflops, double bound, const char *what)
{
    if (!(bound >= gflops * 1e9))
        fail_msg("%s, %s %lld x %lld x %lld, %g MHz: measured %.4g GFLOP/s, the bound is %.4g", what, kernel,
                 (long long)record->m, (long long)record->n, (long long)record->k, record->clock_mhz, gflops,
                 bound * 1e-9);
}

/* 0 of peers that make no product of their own: what a plain copy of the operands takes. */
static int is_one_product(const lab_record *record)
{
    return strncmp(record->peer, "cuBLAS", strlen("cuBLAS")) == 0;
}

static void no_problems_bound_is_below_a_measurement(void **unused)
{
    (void)unused;
    size_t judged = 0, peers = 0, on_h100 = 0;
    for (size_t i = 0; i < n_files; i++)
        for (size_t j = 0; j < files[i].count; j++) {
            const lab_record *record = &files[i].items[j];
            const lab_gpu_spec *gpu = gpu_of(record);
            tsr_gemm_desc desc;
            if (!isfinite(record->gflops) || !describe(record, &desc))
                continue;
            if (strstr(record->kernel, "sparse24"))
                desc.flags = TSR_SPARSE24_A;
            const double peak =
                lab_gpu_best_flops(gpu, desc.a.dtype, desc.compute, clock_of(record)) * lab_sparse_factor(&desc);
            const double bound = lab_problem_roof_of(&desc, peak, gpu->memory_bytes_per_s).bound_flops_s;
            is_not_below(record, record->kernel, record->gflops, bound, "problem");
            judged++;
            on_h100 += gpu != h200();
            if (isfinite(record->peer_time_us) && is_one_product(record)) {
                const double clocks_apart =
                    1.1; /* recorded is the clock of our rounds; who takes less power runs faster */
                is_not_below(record, record->peer, record->gflops * record->time_us / record->peer_time_us,
                             bound * clocks_apart, "problem");
                peers++;
            }
        }
    assert_true(judged > 20000);
    print_message("%zu records, %zu times of cuBLAS, %zu records of an H100\n", judged, peers, on_h100);
    assert_true(peers > 5000);
    assert_true(on_h100 > 10);
}

static const lab_pair *pair_of(const lab_record *record)
{
    for (size_t i = 0; i < n_pairs; i++)
        if (strcmp(pairs[i].kernel, record->kernel) == 0 && pairs[i].m == record->m && pairs[i].n == record->n &&
            pairs[i].k == record->k && strcmp(pairs[i].layout, record->layout) == 0 && record->batch == 1)
            return &pairs[i];
    return NULL;
}

static void no_kernels_bound_is_below_a_measurement(void **unused)
{
    (void)unused;
    size_t judged = 0;
    for (size_t i = 0; i < n_files; i++)
        for (size_t j = 0; j < files[i].count; j++) {
            const lab_record *record = &files[i].items[j];
            const lab_pair *pair = isfinite(record->gflops) ? pair_of(record) : NULL;
            if (!pair)
                continue;
            const tsr_gemm_desc desc = lab_pair_desc(pair);
            const lab_bounds bounds = lab_bounds_of(&pair->counters, &desc, h200(), clock_of(record));
            is_not_below(record, record->kernel, record->gflops, bounds.flops_s[bounds.by], lab_roof_names[bounds.by]);
            judged++;
        }
    assert_true(judged > 300);
}

/* wgmma, whose counters no file holds: counted now. */
static void no_wgmmas_bound_is_below_a_measurement(void **unused)
{
    static const char *const kernels[] = {"wgmma_bf16_bf16_p128x128_s6_c21", "wgmma_bf16_bf16_p128x128_s6_c11",
                                          "wgmma_bf16_bf16_p128x192_s4_c21", "wgmma_bf16_bf16_p64x256_s5_c21",
                                          "wgmma_bf16_bf16_p64x64_s10_c11",  "wgmma_bf16_bf16_p64x128_s8_c12",
                                          "wgmma_skinny_bf16_bf16_64_g2",    "wgmma_skinny_bf16_bf16_128_g2s4"};
    (void)unused;
    size_t judged = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 4096, 4096, 4096);
        lab_roofpoint point;
        desc.kernel = kernels[i];
        const tsr_status status = lab_roofpoint_of(h200(), &desc, &point);
        if (status == TSR_UNSUPPORTED)
            skip();
        assert_int_equal(status, TSR_OK);
        for (size_t f = 0; f < n_files; f++)
            for (size_t j = 0; j < files[f].count; j++) {
                const lab_record *record = &files[f].items[j];
                if (strcmp(record->kernel, kernels[i]) != 0 || !isfinite(record->gflops) || record->m != 4096 ||
                    record->n != 4096 || record->k != 4096 || strcmp(record->layout, "nn") != 0 || record->batch != 1)
                    continue;
                const lab_bounds bounds = lab_bounds_of(&point.counters, &desc, h200(), clock_of(record));
                is_not_below(record, record->kernel, record->gflops, bounds.flops_s[bounds.by],
                             lab_roof_names[bounds.by]);
                judged++;
            }
    }
    assert_true(judged >= 8);
}

/* f64 on an H200: its tensor cores have twice the peak of its other units; cuBLAS uses them. An A40 has none. */
static void f64_on_tensor_cores(void **unused)
{
    (void)unused;
    assert_true(fabs(lab_gpu_best_flops(h200(), TSR_F64, TSR_COMPUTE_DEFAULT, 0) - 66.9e12) < 0.1e12);
    assert_true(fabs(lab_gpu_best_flops(lab_gpu_spec_find("a100"), TSR_F64, TSR_COMPUTE_DEFAULT, 0) - 19.5e12) <
                0.1e12);
    const lab_gpu_spec *a40 = lab_gpu_spec_find("a40");
    assert_true(lab_gpu_best_flops(a40, TSR_F64, TSR_COMPUTE_DEFAULT, 0) ==
                lab_gpu_peak_flops(a40, TSR_F64, TSR_COMPUTE_DEFAULT, 0));
}

/* 4096^3 in f16 on an A100: 1365 FLOP/B, compute-bound, 312 TFLOP/s; a 40 GB card has 1,555 GB/s. */
static void the_tutorials_problem(void **unused)
{
    (void)unused;
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F16, 4096, 4096, 4096);
    const double peak = lab_gpu_best_flops(lab_gpu_spec_find("a100"), TSR_F16, TSR_COMPUTE_DEFAULT, 0);
    lab_problem_roof r = lab_problem_roof_of(&desc, peak, 1555e9);
    assert_true(fabs(r.intensity - 1365.3) < 0.1);
    assert_true(fabs(r.bound_flops_s - 312e12) < 0.5e12);
    assert_false(r.is_memory_bound);
    assert_true(fabs(r.ridge - 200.6) < 0.5);
    const tsr_gemm_desc vector = tsr_gemm_desc_make(TSR_F16, 1, 4096, 4096);
    r = lab_problem_roof_of(&vector, peak, 1555e9);
    assert_true(r.is_memory_bound);
    assert_true(fabs(r.bound_flops_s - r.intensity * 1555e9) < 1);
}

/* A compressed A has half of its values, and two bits for each that it has; FLOP are the whole product's, of which a
 * kernel makes half. */
static void a_compressed_operand(void **unused)
{
    (void)unused;
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 256, 512, 1024);
    const lab_problem_roof whole = lab_problem_roof_of(&desc, 0, 0);
    desc.flags = TSR_SPARSE24_A;
    const lab_problem_roof a = lab_problem_roof_of(&desc, 0, 0);
    desc.flags = TSR_SPARSE24_B;
    const lab_problem_roof b = lab_problem_roof_of(&desc, 0, 0);
    assert_true(a.flops == whole.flops && b.flops == whole.flops);
    assert_true(whole.bytes - a.bytes == 256 * 1024 * (2 - 1 - 1.0 / 8));
    assert_true(whole.bytes - b.bytes == 512 * 1024 * (2 - 1 - 1.0 / 8));
    for (int i = 0; i < 2; i++) {
        lab_roofpoint point;
        desc.kernel = i == 0 ? "sparse24" : "wgmma-sparse24";
        if (lab_roofpoint_of(h200(), &desc, &point) != TSR_OK)
            skip(); /* a build without the emulator */
        assert_true(point.flops == whole.flops && point.flops <= 2 * point.counters.flops);
        assert_true(point.peak_flops_s == 2 * lab_gpu_best_flops(h200(), TSR_BF16, TSR_COMPUTE_DEFAULT, 0));
        assert_true(point.bound_flops_s <= point.peak_flops_s);
        assert_true(point.bounds.flops_s[LAB_ROOF_DRAM] == b.intensity * h200()->memory_bytes_per_s);
    }
}

/* Rates and FLOP for each byte of DRAM are of 2 M N K, as benchmarks count them, whatever tiles make beyond D's edges.
 */
static void tiles_beyond_the_edge_are_no_work(void **unused)
{
    static const char *const kernels[] = {"wgmma_bf16_bf16_p128x128_s6_c21", "mma_tma_bf16_128x128",
                                          "mma_bf16_128x128_a8"};
    (void)unused;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_BF16, 2000, 1000, 1000);
        lab_roofpoint point;
        desc.kernel = kernels[i];
        if (lab_roofpoint_of(h200(), &desc, &point) != TSR_OK)
            skip(); /* a build without the emulator */
        assert_true(point.flops == 4e9);
        assert_true(fabs(point.intensity_dram * point.prediction.dram_bytes - 4e9) < 1);
        /* 2048 x 1024 are made, K at least. */
        if (!(point.counters.flops > 4e9 * 1.048 * 0.99 && point.counters.flops < 4e9 * 1.048 * 1.03))
            fail_msg("%s makes %g FLOP", kernels[i], point.counters.flops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_problems_bound_is_below_a_measurement),
        cmocka_unit_test(no_kernels_bound_is_below_a_measurement),
        cmocka_unit_test(no_wgmmas_bound_is_below_a_measurement),
        cmocka_unit_test(f64_on_tensor_cores),
        cmocka_unit_test(the_tutorials_problem),
        cmocka_unit_test(a_compressed_operand),
        cmocka_unit_test(tiles_beyond_the_edge_are_no_work),
    };
    return cmocka_run_group_tests(tests, read_records, free_records);
}
