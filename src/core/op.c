#include "core/op.h"

#include "core/dtype.h"
#include "core/reason.h"

static int first_of(unsigned bits)
{
    int bit = 0;
    while (bits && !(bits >> bit & 1))
        bit++;
    return bit;
}

tsr_op tsr_op_of(const tsr_op_set *set)
{
    const tsr_dtype a = (tsr_dtype)first_of(set->a), usual = tsr_dtype_result(a);
    const tsr_dtype d = set->cd & TSR_TYPE_BIT(usual) ? usual : (tsr_dtype)first_of(set->cd);
    return (tsr_op){.a = a,
                    .b = (tsr_dtype)first_of(set->b),
                    .c = d,
                    .d = d,
                    .compute = (tsr_compute)first_of(set->computes),
                    .sparse24 = set->operands & TSR_TAKES_WHOLE ? 0 : TSR_SPARSE24_A};
}

tsr_dtype tsr_op_dtype(const tsr_op *op, char which)
{
    return which == 'a' ? op->a : which == 'b' ? op->b : which == 'c' ? op->c : op->d;
}

tsr_peak tsr_op_peak(tsr_compute compute, tsr_dtype a, int is_gpu)
{
    if (compute == TSR_COMPUTE_TF32 && is_gpu)
        return TSR_PEAK_TF32;
    const tsr_peak peak = tsr_element_of(a)->peak;
    return is_gpu || peak == TSR_PEAK_F64 || peak == TSR_PEAK_NONE ? peak : TSR_PEAK_F32;
}

static int types_fit(const tsr_op_set *set, const tsr_op *op)
{
    return set->a & TSR_TYPE_BIT(op->a) && set->b & TSR_TYPE_BIT(op->b) && op->c == op->d &&
           set->cd & TSR_TYPE_BIT(op->d) && set->computes & TSR_COMPUTE_BIT(op->compute);
}

int tsr_op_accepts(const tsr_op_set *set, const tsr_op *op, char *reason, size_t reason_bytes)
{
    const tsr_op own = tsr_op_of(set);
    if (!types_fit(set, op))
        return tsr_refuse(reason, reason_bytes, "computes %s x %s -> %s in %s", tsr_dtype_name(own.a),
                          tsr_dtype_name(own.b), tsr_dtype_name(own.d), tsr_compute_name(own.compute));
    if (op->sparse24 && !(set->operands & TSR_TAKES_SPARSE24))
        return tsr_refuse(reason, reason_bytes, "reads whole operands alone; %c is compressed 2:4",
                          op->sparse24 == TSR_SPARSE24_A ? 'A' : 'B');
    if (!op->sparse24 && !(set->operands & TSR_TAKES_WHOLE))
        return tsr_refuse(reason, reason_bytes, "multiplies compressed operands alone (TSR_SPARSE24_A, _B)");
    if (~set->scales & (TSR_SCALE_BIT(op->scale_a) | TSR_SCALE_BIT(op->scale_b)))
        return tsr_refuse(reason, reason_bytes, "takes no scales of %s",
                          set->scales & TSR_SCALE_BIT(TSR_SCALE_VECTOR) ? "blocks" : "rows, columns or blocks");
    if (!(set->epilogues >> op->epilogue & 1))
        return tsr_refuse(reason, reason_bytes, "takes no form of an epilogue");
    return 1;
}
