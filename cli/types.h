/* The options that say what a product computes, the same in all commands that take them: rows of an option table, for
 * a lab_types `field` of the settings. */
#ifndef CLI_TYPES_H
#define CLI_TYPES_H

#include "cli/args.h"
#include "lab/common/gpus.h"
#include "lab/common/product_types.h"

#define CLI_COMPUTE_CHOICES "default|tf32|fast"

/* All of them; `a_help` says what --dtype is of. */
#define CLI_TYPES_OPTIONS(settings, field, a_help)                                              \
    {.name = "--dtype",                                                                         \
     .value = "T",                                                                              \
     .help = a_help,                                                                            \
     .parse = cli_parse_dtype,                                                                  \
     .offset = offsetof(settings, field.a)},                                                    \
        CLI_B_TYPE_OPTION(settings, field), CLI_OUT_TYPE_OPTION(settings, field, CLI_OUT_HELP), \
        CLI_COMPUTE_OPTION(settings, field, CLI_COMPUTE_HELP)

#define CLI_OUT_HELP     "type of C and D (default: bf16 for 8-bit floats, s32 for 8-bit integers, else as --dtype)"
#define CLI_COMPUTE_HELP "tf32: products of f32 in tf32; fast: sums of 8-bit floats stay in the tensor cores"

#define CLI_B_TYPE_OPTION(settings, field)                                                            \
    {                                                                                                 \
        .name = "--dtype-b", .value = "T",                                                            \
        .help = "B's type, where it is another than A's: e4m3 beside e5m2, s8 beside u8 (default as " \
                "--dtype)",                                                                           \
        .parse = cli_parse_dtype, .offset = offsetof(settings, field.b)                               \
    }
#define CLI_OUT_TYPE_OPTION(settings, field, out_help)                                   \
    {                                                                                    \
        .name = "--out-dtype", .value = "T", .help = out_help, .parse = cli_parse_dtype, \
        .offset = offsetof(settings, field.d)                                            \
    }
#define CLI_COMPUTE_OPTION(settings, field, compute_help)                                                    \
    {                                                                                                        \
        .name = "--compute", .value = CLI_COMPUTE_CHOICES, .help = compute_help, .parse = cli_parse_compute, \
        .offset = offsetof(settings, field.compute)                                                          \
    }

/* CLI_CONTINUE if there are such products; otherwise the exit code, with the message printed. */
int cli_types_check(const cli_command *self, const lab_types *types);

/* For a kernel or instance that computes such operands in another arithmetic alone: says which --compute runs it. */
int cli_types_check_kernel(const cli_command *self, const char *kernel, const lab_types *types);

/* CLI_CONTINUE if the GPU multiplies such operands; otherwise an exit code, with the message printed. */
int cli_types_check_gpu(const cli_command *self, const lab_gpu_spec *gpu, const lab_types *types);

#endif
