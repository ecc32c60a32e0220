/* Prints one line for each CUDA config of the kernel table: "instance;source;defines;arch;tma;group", where arch is the
 * lowest that the config runs on, with an "a" if it is the only one and "_90" if the source has something for 9.0 and
 * later ones that earlier ones lack (ptx/grid.h), tma is 1 if the kernel takes tensor maps, 2 if scaling too, and group
 * names the configs whose machine code lies in one cubin. CMake compiles and runs this when it configures, so that a
 * new config needs no edit of the build. */
#include <stdio.h>
#include <string.h>

#include "core/config.h"

#define HOOK(function) NULL
#define CONFIG(...)    {__VA_ARGS__},
static const tsr_config configs[] = {
#include "plan/kernels.def"
#include "plan/microbench.def"
#include "plan/prep.def"
};

enum { CONFIGS = sizeof configs / sizeof configs[0], MOST_KERNELS = 16 };

/* Loading one kernel makes the driver expand the code of its whole group, so a group shall have about 1 MB for one
 * architecture, 1.3 at most: sources whose kernels are large have fewer in one. */
static const struct {
    const char *source;
    int kernels;
} large[] = {
    {"kernels/gemm/wgmma.cu", 8},
    {"kernels/gemm/wgmma_kmajor.cu", 4},
    {"kernels/gemm/wgmma_sparse24.cu", 4},
};

static const char *arch_suffix(const tsr_config *config)
{
    return config->exact_arch ? "a" : config->dependent_launch && config->min_arch < 90 ? "_90" : "";
}

static int most_kernels(const char *source)
{
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        if (strcmp(source, large[i].source) == 0)
            return large[i].kernels;
    return MOST_KERNELS;
}

/* May share a cubin: the same source and architectures. */
static int are_kin(const tsr_config *a, const tsr_config *b)
{
    return b->kind == TSR_CONFIG_CUDA && strcmp(a->source, b->source) == 0 && a->min_arch == b->min_arch &&
           strcmp(arch_suffix(a), arch_suffix(b)) == 0;
}

/* The next define that names no element type. */
static const char *next_define(const char *at, size_t *bytes)
{
    for (;; at += *bytes) {
        at += strspn(at, " ");
        *bytes = strcspn(at, " ");
        if (strncmp(at, "ELEM_", 5) != 0 && strncmp(at, "OUT_", 4) != 0)
            return at;
    }
}

/* The same kernel but for its element types. */
static int are_twins(const tsr_config *a, const tsr_config *b)
{
    size_t a_bytes, b_bytes;
    const char *in_a = next_define(a->defines, &a_bytes), *in_b = next_define(b->defines, &b_bytes);
    while (a_bytes > 0 && a_bytes == b_bytes && memcmp(in_a, in_b, a_bytes) == 0) {
        in_a = next_define(in_a + a_bytes, &a_bytes);
        in_b = next_define(in_b + b_bytes, &b_bytes);
    }
    return a_bytes == 0 && b_bytes == 0;
}

static size_t first_twin(size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (are_kin(&configs[index], &configs[i]) && are_twins(&configs[index], &configs[i]))
            return i;
    return index;
}

/* Twins stand together, since their code differs least; groups of one source are of equal size, give or take one. */
static void print_group(size_t index)
{
    const tsr_config *const config = &configs[index];
    const size_t first = first_twin(index);
    int before = 0, kin = 0;
    for (size_t i = 0; i < CONFIGS; i++) {
        if (!are_kin(config, &configs[i]))
            continue;
        const size_t other = first_twin(i);
        before += other < first || (other == first && i < index);
        kin++;
    }
    const int most = most_kernels(config->source), groups = (kin + most - 1) / most;
    const char *const name = strrchr(config->source, '/') + 1;
    printf("group_%.*s_%d%s_%d\n", (int)strcspn(name, "."), name, config->min_arch, arch_suffix(config),
           before * groups / kin);
}

int main(void)
{
    for (size_t i = 0; i < CONFIGS; i++)
        if (configs[i].kind == TSR_CONFIG_CUDA) {
            printf("%s;%s;%s;%d%s;%d;", configs[i].instance, configs[i].source, configs[i].defines, configs[i].min_arch,
                   arch_suffix(&configs[i]), configs[i].scaled ? 2 : configs[i].tma);
            print_group(i);
        }
    return 0;
}
