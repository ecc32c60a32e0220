/* Layouts of version 0.1's structs, as 64-bit programs that were compiled against its header know them: no later
 * version moves a member. A new version adds members behind the last, and a line here for each. Included after the
 * header, the first or today's. */
#ifndef TESSERA_TEST_LAYOUT_H
#define TESSERA_TEST_LAYOUT_H

#include <stddef.h>

#define AT(type, member, offset) _Static_assert(offsetof(type, member) == (offset), #type "." #member " has moved")

AT(tsr_context_options, struct_bytes, 0);
AT(tsr_context_options, threads, 8);
AT(tsr_context_options, plan_cache_entries, 12);
AT(tsr_context_options, tuning_file, 16);
AT(tsr_context_options, alloc, 24);
AT(tsr_context_options, free, 32);
AT(tsr_context_options, log, 40);
AT(tsr_context_options, user, 48);

/* It lies within the descriptor: it cannot grow, only its reserved numbers get names. */
_Static_assert(sizeof(tsr_operand) == 48, "tsr_operand has another size");
AT(tsr_operand, dtype, 0);
AT(tsr_operand, trans, 4);
AT(tsr_operand, memory, 8);
AT(tsr_operand, align_bytes, 12);
AT(tsr_operand, ld, 16);
AT(tsr_operand, batch_stride, 24);
AT(tsr_operand, reserved, 32);

AT(tsr_gemm_desc, struct_bytes, 0);
AT(tsr_gemm_desc, m, 8);
AT(tsr_gemm_desc, n, 16);
AT(tsr_gemm_desc, k, 24);
AT(tsr_gemm_desc, a, 32);
AT(tsr_gemm_desc, b, 80);
AT(tsr_gemm_desc, c, 128);
AT(tsr_gemm_desc, d, 176);
AT(tsr_gemm_desc, compute, 224);
AT(tsr_gemm_desc, batch_kind, 228);
AT(tsr_gemm_desc, batch_count, 232);
AT(tsr_gemm_desc, flags, 240);
AT(tsr_gemm_desc, threads, 244);
AT(tsr_gemm_desc, kernel, 248);
AT(tsr_gemm_desc, epilogue, 256);
AT(tsr_gemm_desc, workspace_limit_bytes, 264);
#ifdef TSR_BROADCAST_A
AT(tsr_gemm_desc, broadcast, 272);
AT(tsr_gemm_desc, reserved, 276);
AT(tsr_gemm_desc, scale_mode_a, 280);
AT(tsr_gemm_desc, scale_mode_b, 284);
#else
_Static_assert(sizeof(tsr_gemm_desc) == 272, "the first descriptor has another size");
#endif

_Static_assert(sizeof(tsr_scalar) == 16, "tsr_scalar has another size");
AT(tsr_scalar, value, 0);
AT(tsr_scalar, device, 8);

AT(tsr_run_args, struct_bytes, 0);
AT(tsr_run_args, a, 8);
AT(tsr_run_args, b, 16);
AT(tsr_run_args, c, 24);
AT(tsr_run_args, d, 32);
AT(tsr_run_args, alpha, 40);
AT(tsr_run_args, beta, 56);
AT(tsr_run_args, stream, 72);
AT(tsr_run_args, workspace, 80);
AT(tsr_run_args, workspace_bytes, 88);
AT(tsr_run_args, prepared_a, 96);
AT(tsr_run_args, prepared_b, 104);
AT(tsr_run_args, bias, 112);
AT(tsr_run_args, scale_a, 120);
AT(tsr_run_args, scale_b, 128);
AT(tsr_run_args, scale_d, 136);
AT(tsr_run_args, metadata_a, 144);
#ifdef TSR_OVERFLOW_SPECIAL
AT(tsr_run_args, scale_c, 152);
AT(tsr_run_args, amax_d, 160);
AT(tsr_run_args, scale_a_count, 168);
AT(tsr_run_args, scale_b_count, 176);
AT(tsr_run_args, zero_a, 184);
AT(tsr_run_args, zero_b, 192);
#else
_Static_assert(sizeof(tsr_run_args) == 152, "the first arguments have another size");
#endif

AT(tsr_candidate, kernel, 0);
AT(tsr_candidate, device, 8);
AT(tsr_candidate, applicable, 16);
AT(tsr_candidate, chosen, 20);
AT(tsr_candidate, reason, 24);
AT(tsr_candidate, cost_ns, 144);
AT(tsr_candidate, bytes, 152);
AT(tsr_candidate, limiter, 160);
#ifdef TSR_OVERFLOW_SPECIAL
AT(tsr_candidate, schedule, 168);
#endif

AT(tsr_kernel_info, struct_bytes, 0);
AT(tsr_kernel_info, name, 8);
AT(tsr_kernel_info, instance, 16);
AT(tsr_kernel_info, summary, 24);
AT(tsr_kernel_info, source, 32);
AT(tsr_kernel_info, constants, 40);
AT(tsr_kernel_info, dtype_ab, 48);
AT(tsr_kernel_info, dtype_cd, 52);
AT(tsr_kernel_info, compute, 56);
AT(tsr_kernel_info, is_cuda, 60);
AT(tsr_kernel_info, has_device_code, 64);
AT(tsr_kernel_info, registers, 68);
AT(tsr_kernel_info, hash, 72);
AT(tsr_kernel_info, hardware, 80);

#undef AT

/* Numbers that programs carry in their code. */
_Static_assert(TSR_F64 == 1 && TSR_F32 == 2 && TSR_F16 == 3 && TSR_BF16 == 4 && TSR_E4M3 == 5 && TSR_E5M2 == 6 &&
                   TSR_S8 == 7 && TSR_U8 == 8 && TSR_S32 == 9,
               "a dtype has another number");
_Static_assert(TSR_COMPUTE_F64 == 1 && TSR_COMPUTE_F32 == 2 && TSR_COMPUTE_TF32 == 3 && TSR_COMPUTE_S32 == 4,
               "a compute type has another number");
_Static_assert(TSR_OK == 0 && TSR_INVALID_ARGUMENT == 1 && TSR_UNSUPPORTED == 2 && TSR_NO_DEVICE == 3 &&
                   TSR_OUT_OF_MEMORY == 4 && TSR_DRIVER_ERROR == 5 && TSR_KERNEL_FAULT == 6 && TSR_IO_ERROR == 7 &&
                   TSR_INTERNAL == 8,
               "a status has another number");
_Static_assert(TSR_N == 0 && TSR_T == 1 && TSR_HOST == 0 && TSR_DEVICE == 1 && TSR_BATCH_STRIDED == 0 &&
                   TSR_BATCH_POINTERS == 1 && TSR_BATCH_GROUPED == 2 && TSR_BATCH_INVARIANT == 1,
               "a constant has another number");

#endif
