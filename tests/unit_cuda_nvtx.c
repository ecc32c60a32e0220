/* The ranges of `tessera profile`, as a profiler sees them that only pretends (fake_nvtx.c): by version 3 of NVTX, by
 * version 2, and not at all. A process finds its profiler once, so each case has one of its own. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "core/device_code.h"
#include "fake_cuda.h"
#include "fake_nvtx.h"
#include "lab/bench/profile.h"
#include "lab/common/nvtx.h"
#if HAVE_NVTX_H
#include <nvtx3/nvToolsExt.h>
#endif

enum { ITERATIONS = 3 };

static fake_cuda_access cuda;

static int launches(void)
{
    return cuda.state->launches;
}

static fake_nvtx *open_fake(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    fake_nvtx *state = library ? dlsym(library, "fake_nvtx_state") : NULL;
    if (state)
        state->launches = launches;
    return state;
}

/* 0 if the run was as it must be: `named` says whether its launches were in a range. */
static int profile(const char *device, int named)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 32, 32, 32);
    desc.kernel = "tiled_f32_t16";
    lab_profile found;
    return lab_profile_run(device, &desc, ITERATIONS, &found) != TSR_OK || found.is_named != named;
}

/* A child's exit status: 0 is good. */
typedef int child(const void *with);

static void in_child(child *run, const void *with)
{
    fflush(NULL);
    const pid_t id = fork();
    assert_true(id >= 0);
    if (id == 0)
        _exit(run(with));
    int status = -1;
    assert_int_equal(waitpid(id, &status, 0), id);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %d", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static int with_injection(const void *with)
{
    (void)with;
    setenv("NVTX_INJECTION64_PATH", FAKE_NVTX_INJECTION, 1);
    fake_nvtx *const nvtx = open_fake(FAKE_NVTX_INJECTION);
    if (!nvtx || profile("emu", 1))
        return 1;
    if (strcmp(nvtx->text, "push tessera profile at 0; pop at 0; ") != 0)
        return 2;
    if (nvtx->errors || nvtx->attached != 1 || nvtx->version != 3 || nvtx->core_functions != 16 || nvtx->depth)
        return 3;
    if (!tsr_find_device_code("tiled_f32_t16"))
        return 0;
    nvtx->text[0] = '\0';
    if (profile("cuda:0", 1) || nvtx->attached != 1) /* once for the process */
        return 4;
    int first, last;
    return sscanf(nvtx->text, "push tessera profile at %d; pop at %d;", &first, &last) != 2 ||
           last != first + ITERATIONS;
}

static void ranges_reach_an_injected_library(void **unused)
{
    (void)unused;
    in_child(with_injection, NULL);
}

static int with_old_library(const void *with)
{
    if (with) /* a profiler that does not want us, or that is not there, is none */
        setenv("NVTX_INJECTION64_PATH", with, 1);
    fake_nvtx *const nvtx = open_fake(FAKE_NVTX_LIBRARY);
    fake_nvtx *const injected = with ? open_fake(with) : NULL;
    if (injected)
        injected->refuses = 1;
    if (!nvtx || profile("emu", 1))
        return 1;
    if (injected && (injected->attached != 1 || injected->text[0]))
        return 2;
    return strcmp(nvtx->text, "push tessera profile at 0; pop at 0; ") != 0 ? 3 : 0;
}

static void ranges_reach_the_old_library(void **unused)
{
    (void)unused;
    in_child(with_old_library, NULL);
    in_child(with_old_library, FAKE_NVTX_INJECTION);
    in_child(with_old_library, "/nowhere/libinjection.so");
}

static int with_nobody(const void *with)
{
    unsetenv("NVTX_INJECTION64_PATH");
    (void)with;
    return dlopen("libnvToolsExt.so.1", RTLD_NOW) ? 0 : profile("emu", 0);
}

static void without_a_profiler_there_is_no_range(void **unused)
{
    (void)unused;
    in_child(with_nobody, NULL);
}

/* The fake profiler takes the tables of NVIDIA's own header as it takes ours. */
static int with_the_header(const void *with)
{
    (void)with;
#if HAVE_NVTX_H
    setenv("NVTX_INJECTION64_PATH", FAKE_NVTX_INJECTION, 1);
    fake_nvtx *const nvtx = open_fake(FAKE_NVTX_INJECTION);
    nvtxRangePushA("header");
    nvtxRangePop();
    if (!nvtx || nvtx->errors || nvtx->version != 3 || nvtx->core_functions != 16)
        return 1;
    return strcmp(nvtx->text, "push header at 0; pop at 0; ") != 0;
#else
    return 0;
#endif
}

static void fake_is_like_a_profiler(void **unused)
{
    (void)unused;
    if (!HAVE_NVTX_H)
        skip();
    in_child(with_the_header, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_reach_an_injected_library),
        cmocka_unit_test(ranges_reach_the_old_library),
        cmocka_unit_test(without_a_profiler_there_is_no_range),
        cmocka_unit_test(fake_is_like_a_profiler),
    };
    (void)argc;
    fake_cuda_start(argv, FAKE_CUDA_DIR);
    cuda = fake_cuda_find();
    cuda.reset();
    cuda.state->any_function = 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
