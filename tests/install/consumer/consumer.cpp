// Uses an installed Tessera from C++17: a descriptor, a plan, a run, an error.
#include <cstdio>
#include <cstring>
#include <memory>
#include <tessera.h>
#include <vector>

namespace
{
struct Destroy {
    void operator()(tsr_context *context) const
    {
        tsr_context_destroy(context);
    }
    void operator()(tsr_plan *plan) const
    {
        tsr_plan_release(plan);
    }
};

int fail(const char *what)
{
    std::printf("%s: %s\n", what, tsr_last_error());
    return 1;
}
} // namespace

int main()
{
    constexpr int m = 5, n = 7, k = 11;
    tsr_context *context = nullptr;
    if (tsr_context_create("cpu", nullptr, &context) != TSR_OK)
        return fail("tsr_context_create");
    std::unique_ptr<tsr_context, Destroy> context_owner(context);

    tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F64, m, n, k);
    tsr_plan *plan = nullptr;
    if (tsr_plan_create(context, &desc, &plan) != TSR_OK)
        return fail("tsr_plan_create");
    std::unique_ptr<tsr_plan, Destroy> plan_owner(plan);

    // Element (i, j) of A is i + 1, of B is j + 1: every element of D is k (i + 1) (j + 1).
    std::vector<double> a(m * k), b(k * n), d(m * n, -1);
    for (int i = 0; i < m * k; i++)
        a[static_cast<std::size_t>(i)] = i / k + 1;
    for (int i = 0; i < k * n; i++)
        b[static_cast<std::size_t>(i)] = i % n + 1;
    tsr_run_args args = tsr_run_args_make(a.data(), b.data(), d.data());
    if (tsr_plan_run(plan, &args) != TSR_OK)
        return fail("tsr_plan_run");
    for (int i = 0; i < m * n; i++) {
        if (d[static_cast<std::size_t>(i)] != k * (i / n + 1) * (i % n + 1)) {
            std::printf("element %d is %g\n", i, d[static_cast<std::size_t>(i)]);
            return 1;
        }
    }

    desc.m = -1;
    plan = nullptr;
    if (tsr_plan_create(context, &desc, &plan) != TSR_INVALID_ARGUMENT || plan || !std::strstr(tsr_last_error(), "m"))
        return fail("a negative size");
    return 0;
}
