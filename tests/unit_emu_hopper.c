/* The twins of Hopper's instructions: descriptors, fragments and the tensor cores' arithmetic by themselves; all of
 * them together by the wgmma kernel, which must be right as it is and be caught in each of its mutants
 * (emu/mutants.cmake). */
#include "emu/hopper.h"
#include "emu/wgmma.h"

#define MUTANT_KERNEL(name) unit_emu_hopper_mutant_##name
#include "tma_mutants.h"

/* Two tiles of a cluster along M and two along N, more steps along K than stages, and a part of a step. */
enum { M = 200, N = 128, K = 328, BM = 64, BN = 64, STAGES = 4, LDD = N + 8, TILES = 4, MOST_CLUSTERS = 7, SEEDS = 8 };

typedef struct matrices {
    uint16_t a[M * K], b[K * N], c[M * LDD], d[M * LDD], bias[N];
    float exact[M * N];
    struct {
        unsigned counters[TSR_WORKSPACE_COUNTER_BYTES / 4];
        float sums[MOST_CLUSTERS * 2 * 2 * BM * BN]; /* two places, two CTAs of a cluster */
    } workspace;
} matrices;

static const tsr_config config = {.instance = "mutant",
                                  .kind = TSR_CONFIG_CUDA,
                                  .bm = BM,
                                  .bn = BN,
                                  .bk = 64,
                                  .cluster_m = 2,
                                  .cluster_n = 1,
                                  .persistent = 1,
                                  .tma = 1};

static matrices *make_matrices(void)
{
    matrices *m = test_malloc(sizeof *m);
    memset(&m->workspace, 0, sizeof m->workspace.counters);
    memset(m->workspace.sums, 0xff, sizeof m->workspace.sums);
    uint32_t state = 1;
    for (int i = 0; i < M * K; i++)
        m->a[i] = tsr_f32_to_bf16((float)((state = state * 1664525u + 1013904223u) >> 30) - 1.0f);
    for (int i = 0; i < K * N; i++)
        m->b[i] = tsr_f32_to_bf16((float)((state = state * 1664525u + 1013904223u) >> 31));
    for (int i = 0; i < M * LDD; i++)
        m->c[i] = tsr_f32_to_bf16((float)(i % 5));
    for (int j = 0; j < N; j++)
        m->bias[j] = tsr_f32_to_bf16((float)(j % 11 * -24));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += tsr_bf16_to_f32(m->a[i * K + k]) * tsr_bf16_to_f32(m->b[k * N + j]);
            sum += tsr_bf16_to_f32(m->c[i * LDD + j]) + tsr_bf16_to_f32(m->bias[j]);
            m->exact[i * N + j] = sum < 0 ? 0 : sum;
        }
    return m;
}

static tsr_status run(kernel_tma *kernel, matrices *m, unsigned long long seed, int clusters, int dealt)
{
    memset(m->d, 0x55, sizeof m->d);
    const tsr_gemm_args args = {.a = m->a,
                                .b = m->b,
                                .c = m->c,
                                .d = m->d,
                                .m = M,
                                .n = N,
                                .k = K,
                                .lda = K,
                                .ldb = N,
                                .ldc = LDD,
                                .ldd = LDD,
                                .batch = 1,
                                .alpha = 1,
                                .beta = 1,
                                .bias = m->bias,
                                .epilogue = TSR_EPILOGUE_BIAS_RELU,
                                .workspace = &m->workspace,
                                .type_a = TSR_BF16,
                                .type_b = TSR_BF16,
                                .type_d = TSR_BF16,
                                .schedule = {.split_k = 1, .cluster_k = 1, .stream_k_tiles = dealt}};
    const tsr_grid whole = tsr_config_grid(&config, &args, 2 * clusters), all_clusters = {2 * clusters, 1, 1};
    const tsr_emu_job job = {.cluster = tsr_config_cluster(&config),
                             .grid = dealt > 0 ? all_clusters : whole,
                             .threads_x = 384,
                             .shared_bytes = STAGES * (BM + BN) * 128 + 2 * 8192 + 16 * STAGES + 72,
                             .workspace_bytes = sizeof m->workspace,
                             .seed = seed,
                             .backwards = seed / 2 % 2}; /* the last part of a tile may come first, or last */
    return run_mutant(kernel, &config, &args, NULL, job);
}

static int is_exact(const matrices *m)
{
    for (size_t i = 0; i < sizeof m->workspace.counters / sizeof(unsigned); i++)
        if (m->workspace.counters[i] != 0)
            return 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            if (m->d[i * LDD + j] != tsr_f32_to_bf16(m->exact[i * N + j]))
                return 0;
    return 1;
}

static void the_kernel_is_right(void **state)
{
    (void)state;
    matrices *m = make_matrices();
    unsigned long long seed = 0;
    for (int dealt = 0; dealt <= TILES; dealt++)
        for (int clusters = 1; clusters <= MOST_CLUSTERS; clusters++, seed++) {
            if (dealt == 1 && clusters == MOST_CLUSTERS)
                continue; /* a tile has six steps along K */
            if (run(MUTANT_KERNEL(none), m, seed, clusters, dealt) != TSR_OK)
                fail_msg("%d tiles dealt to %d clusters: %s", dealt, clusters, tsr_last_error());
            assert_true(is_exact(m));
        }
    test_free(m);
}

/* Caught is a fault with the right words; a wrong result without one is enough only where the table says so. */
static void every_mutant_is_caught(void **state)
{
    (void)state;
    matrices *m = make_matrices();
    for (int i = 0; i < MUTANTS; i++) {
        int caught = 0;
        char message[600] = "no fault";
        for (unsigned long long seed = 0; seed < SEEDS; seed++) {
            memset(&m->workspace, 0, sizeof m->workspace.counters); /* a fault leaves them anyhow */
            const tsr_status status = run(mutants[i].kernel, m, seed, 1 + seed % 4, seed % 2 ? 3 : 0);
            if (status == TSR_OK && strcmp(mutants[i].says, "wrong result") == 0 && !is_exact(m)) {
                snprintf(message, sizeof message, "wrong result");
                caught++;
            }
            if (status != TSR_KERNEL_FAULT)
                continue;
            if (!caught)
                snprintf(message, sizeof message, "%s", tsr_last_error());
            caught += strstr(tsr_last_error(), mutants[i].says) != NULL;
        }
        print_message("%s: %d of %d seeds: %s\n", mutants[i].name, caught, SEEDS, message);
        if (caught == 0)
            fail_msg("%s: expected \"%s\", got: %s", mutants[i].name, mutants[i].says, message);
    }
    test_free(m);
}

/* PTX ISA, "Register fragments and shared memory matrix layouts" of wgmma: the figure of D. */
static void fragments_lie_where_the_isa_says(void **state)
{
    (void)state;
    unsigned r, c;
    tsr_emu_fragment(0, 0, &r, &c);
    assert_int_equal(r * 1000 + c, 0);
    tsr_emu_fragment(1, 1, &r, &c);
    assert_int_equal(r * 1000 + c, 3);
    tsr_emu_fragment(4, 2, &r, &c);
    assert_int_equal(r * 1000 + c, 9000);
    tsr_emu_fragment(127, 7, &r, &c);
    assert_int_equal(r * 1000 + c, 63015);
    static unsigned char seen[64][256];
    for (unsigned thread = 0; thread < 128; thread++)
        for (unsigned i = 0; i < 128; i++) {
            tsr_emu_fragment(thread, i, &r, &c);
            seen[r][c]++;
        }
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 256; j++)
            assert_int_equal(seen[i][j], 1);
}

static void descriptors_are_taken_apart(void **state)
{
    (void)state;
    /* 128-byte swizzle, eight rows are 1024 bytes, slabs 8192, at 2048 + 32. */
    const unsigned long long bits = 1ull << 62 | 64ull << 32 | 512ull << 16 | (2048 + 32) / 16;
    emu_descriptor d = tsr_emu_descriptor(bits);
    assert_int_equal(d.start, 2080);
    assert_int_equal(d.stride, 1024);
    assert_int_equal(d.leading, 8192);
    assert_int_equal(d.row_bytes, 128);
    assert_null(tsr_emu_descriptor_fault(&d));
    assert_int_equal(tsr_emu_descriptor_at(&d, 9, 16), 2080 + 1024 + 128 + 16);
    assert_int_equal(tsr_emu_descriptor_at_mn_major(&d, 72, 9), 2080 + 8192 + 1024 + 128 + 16);
    d.start = 128;
    assert_non_null(tsr_emu_descriptor_fault(&d));
    d.start = 0;
    d.stride = 512;
    assert_non_null(tsr_emu_descriptor_fault(&d));
    d = tsr_emu_descriptor(2ull << 62 | 32ull << 32);
    assert_int_equal(d.row_bytes, 64);
    assert_null(tsr_emu_descriptor_fault(&d));
    d = tsr_emu_descriptor(24ull << 32 | 40ull << 16 | 1);
    assert_int_equal(d.row_bytes, 16);
    assert_null(tsr_emu_descriptor_fault(&d));
    assert_int_equal(tsr_emu_descriptor_at(&d, 9, 16), 16 + 24 * 16 + 16 + 40 * 16);
    assert_int_equal(tsr_emu_descriptor_at_mn_major(&d, 8, 9), 16 + 24 * 16 + 40 * 16 + 16);
}

/* The 128-byte swizzle: a permutation of each 1024 bytes that keeps rows, and puts the same column of 8 rows into
 * different 16-byte chunks. */
static void the_swizzle_spreads_columns(void **state)
{
    (void)state;
    assert_int_equal(tsr_emu_swizzle(0, 128), 0);
    assert_int_equal(tsr_emu_swizzle(128, 128), 128 + 16);
    assert_int_equal(tsr_emu_swizzle(7 * 128 + 3 * 16, 128), 7 * 128 + 4 * 16);
    assert_int_equal(tsr_emu_swizzle(1024 + 16, 128), 1024 + 16);
    assert_int_equal(tsr_emu_swizzle(128 + 64, 64), 128 + 80);
    assert_int_equal(tsr_emu_swizzle(512 + 16, 64), 512 + 16);
    assert_int_equal(tsr_emu_swizzle(128 + 32, 32), 128 + 48);
    assert_int_equal(tsr_emu_swizzle(256 + 16, 32), 256 + 16);
    assert_int_equal(tsr_emu_swizzle(1008, 16), 1008);
    for (size_t column = 0; column < 8; column++) {
        unsigned chunks = 0;
        for (size_t r = 0; r < 8; r++) {
            const size_t place = tsr_emu_swizzle(r * 128 + column * 16, 128);
            assert_int_equal(place / 128, r);
            chunks |= 1u << place % 128 / 16;
        }
        assert_int_equal(chunks, 0xff);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments_lie_where_the_isa_says), cmocka_unit_test(descriptors_are_taken_apart),
        cmocka_unit_test(the_swizzle_spreads_columns),      cmocka_unit_test(the_kernel_is_right),
        cmocka_unit_test(every_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
