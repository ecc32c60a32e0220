#include "cli/run_scales.h"

#include <inttypes.h>

#include "cli/api_error.h"
#include "lab/bench/bench.h"
#include "lab/common/operands.h"

static int open_one(const cli_command *self, const char *path, cli_operand *out)
{
    const int code = path ? cli_operand_open_vector(self, path, out) : CLI_OK;
    if (!path || code != CLI_OK || out->dtype == TSR_F32)
        return code;
    return cli_failure(self, "%s holds %s; scales are f32", path,
                       out->dtype == TSR_DTYPE_NONE ? "opaque elements" : tsr_dtype_name(out->dtype));
}

int cli_scales_open(const cli_command *self, cli_run_scales *scales)
{
    const int code = open_one(self, scales->path_a, &scales->a);
    return code == CLI_OK ? open_one(self, scales->path_b, &scales->b) : code;
}

int cli_scales_check(const cli_command *self, const cli_run_scales *scales, const lab_types *types)
{
    const lab_scales_given given = scales->named ? (lab_scales_given)scales->named : LAB_SCALES_TENSOR;
    cli_message error;
    if ((!scales->path_a && !scales->path_b) || lab_scales_check(given, types) == TSR_OK)
        return CLI_OK;
    cli_api_error(self, &error);
    return scales->named ? cli_usage_error(self, "--scales %s: %s", lab_scales_word(given), error.text)
                         : cli_usage_error(self, "--scale-%c: %s", scales->path_a ? 'a' : 'b', error.text);
}

/* The mode of one operand, of `outer` rows or columns: `named`, which must be that of as many scales as there are, or
 * by the count. */
static int choose(const cli_command *self, const cli_operand *scales, char which, int is_named, int64_t outer,
                  int64_t k, tsr_scale_mode *mode)
{
    const int64_t count = scales->columns;
    const char *const lines = which == 'A' ? "row" : "column";
    if (!scales->path) {
        *mode = TSR_SCALE_TENSOR;
        return CLI_OK;
    }
    if (is_named && count != lab_scale_count(*mode, outer, k))
        return cli_failure(self, "%s has %" PRId64 " scales; those of %c, which --scales names, are %" PRId64,
                           scales->path, count, which, lab_scale_count(*mode, outer, k));
    if (!is_named && count != 1 && count != outer)
        return cli_failure(self,
                           "%s has %" PRId64 " scales; %c has 1, or %" PRId64 ", one for each %s; --scales names those "
                           "of blocks",
                           scales->path, count, which, outer, lines);
    if (!is_named)
        *mode = count == 1 ? TSR_SCALE_TENSOR : TSR_SCALE_VECTOR;
    return CLI_OK;
}

int cli_scales_put(const cli_command *self, const cli_run_scales *scales, int is_stack, tsr_gemm_desc *desc)
{
    lab_scales_put((lab_scales_given)scales->named, desc);
    int code = choose(self, &scales->a, 'A', scales->named != 0, desc->m, desc->k, &desc->scale_mode_a);
    if (code == CLI_OK)
        code = choose(self, &scales->b, 'B', scales->named != 0, desc->n, desc->k, &desc->scale_mode_b);
    if (code == CLI_OK && is_stack &&
        (desc->scale_mode_a != TSR_SCALE_TENSOR || desc->scale_mode_b != TSR_SCALE_TENSOR))
        return cli_failure(self, "a stack of matrices takes one scale of A and one of B");
    return code;
}

void cli_scales_pass(const cli_run_scales *scales, tsr_run_args *args)
{
    if (scales->a.path) {
        args->scale_a = scales->a.data;
        args->scale_a_count = scales->a.columns;
    }
    if (scales->b.path) {
        args->scale_b = scales->b.data;
        args->scale_b_count = scales->b.columns;
    }
}

void cli_scales_close(cli_run_scales *scales)
{
    cli_operand_close(&scales->a);
    cli_operand_close(&scales->b);
}
