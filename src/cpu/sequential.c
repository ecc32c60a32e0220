/* cpu-sequential: C = alpha * A * B + beta * C as it is defined, the baseline of every speedup. One thread, one running
 * sum for each element, the innermost loop along K. */
#include "core/dtype.h"
#include "core/error.h"
#include "cpu/cpu.h"

#define S         float
#define ACC       float
#define WIDEN(x)  (x)
#define NARROW(x) (x)
#define NAME      f32
#include "cpu/sequential_tmpl.h"

#define S         double
#define ACC       double
#define WIDEN(x)  (x)
#define NARROW(x) (x)
#define NAME      f64
#include "cpu/sequential_tmpl.h"

#define S         uint16_t
#define ACC       float
#define WIDEN(x)  tsr_f16_to_f32(x)
#define NARROW(x) tsr_f32_to_f16(x)
#define NAME      f16
#include "cpu/sequential_tmpl.h"

#define S         uint16_t
#define ACC       float
#define WIDEN(x)  tsr_bf16_to_f32(x)
#define NARROW(x) tsr_f32_to_bf16(x)
#define NAME      bf16
#include "cpu/sequential_tmpl.h"

tsr_status tsr_cpu_sequential(const tsr_row *row, const tsr_cpu_call *call)
{
    switch (row->dtype_ab) {
    case TSR_F32:
        f32(call->args);
        return TSR_OK;
    case TSR_F64:
        f64(call->args);
        return TSR_OK;
    case TSR_F16:
        f16(call->args);
        return TSR_OK;
    case TSR_BF16:
        bf16(call->args);
        return TSR_OK;
    default:
        return tsr_fail(TSR_INTERNAL, "row %s: cpu-sequential has no code for %s", row->instance,
                        tsr_dtype_name(row->dtype_ab));
    }
}
