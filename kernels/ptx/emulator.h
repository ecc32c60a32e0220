/* What the emulator offers to the twins in kernels/ptx: src/emu implements it. Kernels never call it themselves.
 *
 * Loads and stores need nothing from here: kernels are compiled with -fsanitize=thread, and the calls that gcc inserts
 * before each access lead to the emulator. Functions marked const return the same value all through a thread's life, so
 * that gcc may keep it in a register as nvcc does. */
#ifndef TSR_PTX_EMULATOR_H
#define TSR_PTX_EMULATOR_H

typedef struct tsr_emu_uint3 {
    unsigned x, y, z;
} tsr_emu_uint3;

__attribute__((const)) tsr_emu_uint3 tsr_emu_thread_idx(void);
__attribute__((const)) tsr_emu_uint3 tsr_emu_block_idx(void);
__attribute__((const)) tsr_emu_uint3 tsr_emu_block_dim(void);
__attribute__((const)) tsr_emu_uint3 tsr_emu_grid_dim(void);

/* The CTA's arena of shared memory, and the 32-bit address of a pointer into it. */
__attribute__((const)) unsigned char *tsr_emu_shared_base(void);
unsigned tsr_emu_shared_address(const void *pointer);

/* Waits for all threads of the CTA. */
void tsr_emu_barrier(void);

/* Comes to barrier `id` (1 to 15) of `threads` threads, and waits there or not. */
void tsr_emu_named_barrier(unsigned id, unsigned threads, int waits);

/* What the lanes of a warp do together. Each lane in `mask` calls tsr_emu_warp with the same function and mask and with
 * operands of its own; the last one to come calls function(operands of each lane, mask), which reads and writes them
 * all; then all go on. Lanes that are not in the mask have NULL. The function returns NULL, or the rule that was
 * broken. It must be a TSR_EMU_TOGETHER function: it touches the stacks of other threads, and nothing else. */
typedef const char *tsr_emu_warp_function(void *const lanes[32], unsigned mask);
void tsr_emu_warp(unsigned mask, tsr_emu_warp_function *function, void *operands);
#define TSR_EMU_TOGETHER static __attribute__((no_sanitize("thread"), noinline))

/* The lanes of the caller's warp that are at the same call. */
unsigned tsr_emu_active_mask(void);

/* The lanes in the mask wait for each other and see each other's accesses. */
void tsr_emu_warp_sync(unsigned mask);

/* cp.async: copies from_bytes of `bytes` (4, 8 or 16) and sets the rest to 0; a group of copies ends; all but the
 * latest pending_groups groups have landed. */
void tsr_emu_copy_start(void *to, const void *from, unsigned bytes, unsigned from_bytes);
void tsr_emu_copy_commit(void);
void tsr_emu_copy_wait(unsigned pending_groups);

/* One atomic operation on a word of global memory; the value before. A load is a place where others may run. */
typedef enum tsr_emu_atomic_operation {
    TSR_EMU_LOAD,
    TSR_EMU_STORE,
    TSR_EMU_ADD,
    TSR_EMU_EXCHANGE,
    TSR_EMU_COMPARE_EXCHANGE
} tsr_emu_atomic_operation;
enum { TSR_EMU_ACQUIRE = 1, TSR_EMU_RELEASE = 2 };
unsigned tsr_emu_atomic(unsigned *word, tsr_emu_atomic_operation operation, unsigned operand, unsigned expected,
                        unsigned order);

/* a * b + c, rounded once, and seen by whoever follows the thread. */
float tsr_emu_fma_f32(float a, float b, float c);
double tsr_emu_fma_f64(double a, double b, double c);

/* For those who count: the warp's matrix instruction did this many FLOP; the thread moves `bytes` of shared memory as
 * hardware would; and what the thread's code does from now on is not what hardware does, or is again. */
void tsr_emu_tensor_flops(unsigned flops);
void tsr_emu_matrix_access(const void *address, unsigned bytes, int is_write);
void tsr_emu_matrix_pause(int is_paused);

/* Tensor cores: sum[rows][columns] += a[rows][k] * b[k][columns] by one instruction, rounded as the hardware rounds.
 * Rows and k are at most 16, columns 8 or 16. Integer sums are int in the floats' bytes. */
typedef enum tsr_emu_format {
    TSR_EMU_BF16,
    TSR_EMU_F16,
    TSR_EMU_TF32,
    TSR_EMU_E4M3,
    TSR_EMU_E5M2,
    TSR_EMU_S8,
    TSR_EMU_U8
} tsr_emu_format;
void tsr_emu_tensor(float *sum, const float *a, const float *b, int rows, int columns, int k, tsr_emu_format format);
/* The same with accumulators of f16, which come and go as floats. */
void tsr_emu_tensor_f16(float *sum, const float *a, const float *b, int rows, int columns, int k,
                        tsr_emu_format format);

/* Ends the kernel unless the bytes lie in the CTA's shared memory. */
void tsr_emu_require_shared(const void *address, unsigned bytes);

/* Ends the kernel: the calling thread broke a rule of an instruction; a static string. */
_Noreturn void tsr_emu_misuse(const char *rule);

#endif
