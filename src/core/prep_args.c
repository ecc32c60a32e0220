/* Where the arguments of steps around a product lie: see core/copy_args.h and core/reduce_args.h. */
#include <stddef.h>

#include "core/copy_args.h"
#include "core/gemm_args.h"
#include "core/reduce_args.h"

#define SAME(type, member, other) \
    _Static_assert(offsetof(type, member) == offsetof(tsr_gemm_args, other), #type "." #member " lies elsewhere")
SAME(tsr_copy_args, a, a);
SAME(tsr_copy_args, b, b);
SAME(tsr_copy_args, to_a, c);
SAME(tsr_copy_args, to_b, d);
SAME(tsr_copy_args, m, m);
SAME(tsr_copy_args, n, n);
SAME(tsr_copy_args, k, k);
SAME(tsr_copy_args, lda, lda);
SAME(tsr_copy_args, ldb, ldb);
SAME(tsr_copy_args, to_lda, ldc);
SAME(tsr_copy_args, to_ldb, ldd);
SAME(tsr_copy_args, batch_a, batch_a);
SAME(tsr_copy_args, batch_b, batch_b);
SAME(tsr_copy_args, to_batch_a, batch_c);
SAME(tsr_copy_args, to_batch_b, batch_d);
SAME(tsr_copy_args, batch, batch);
SAME(tsr_copy_args, trans_a, trans_a);
SAME(tsr_copy_args, trans_b, trans_b);

SAME(tsr_reduce_args, c, c);
SAME(tsr_reduce_args, d, d);
SAME(tsr_reduce_args, workspace, workspace);
SAME(tsr_reduce_args, m, m);
SAME(tsr_reduce_args, n, n);
SAME(tsr_reduce_args, k, k);
SAME(tsr_reduce_args, tile_rows, lda);
SAME(tsr_reduce_args, tile_columns, ldb);
SAME(tsr_reduce_args, ldc, ldc);
SAME(tsr_reduce_args, ldd, ldd);
SAME(tsr_reduce_args, tiles_along, batch_a);
SAME(tsr_reduce_args, ways, batch_b);
SAME(tsr_reduce_args, batch_c, batch_c);
SAME(tsr_reduce_args, batch_d, batch_d);
SAME(tsr_reduce_args, batch, batch);
SAME(tsr_reduce_args, alpha, alpha);
SAME(tsr_reduce_args, beta, beta);
SAME(tsr_reduce_args, schedule, schedule);
SAME(tsr_reduce_args, bias, bias);
SAME(tsr_reduce_args, epilogue, epilogue);
