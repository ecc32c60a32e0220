/* What the emulator offers to the twins of Hopper's asynchronous instructions; src/emu implements it. Addresses are
 * 32-bit shared addresses as tsr_shared_address gives them. Each function behaves as the instruction of the wrapper
 * that calls it. */
#ifndef TSR_PTX_EMULATOR_HOPPER_H
#define TSR_PTX_EMULATOR_HOPPER_H

/* The pointer of a shared address of the caller's own CTA. */
void *tsr_emu_shared_pointer(unsigned address);

/* mbarriers. */
void tsr_emu_mbarrier_init(unsigned bar, unsigned count);
void tsr_emu_mbarrier_arrive(unsigned bar, unsigned rank);
void tsr_emu_mbarrier_arrive_expect(unsigned bar, unsigned bytes);
void tsr_emu_mbarrier_arrive_copies(unsigned bar);
void tsr_emu_mbarrier_wait(unsigned bar, unsigned parity);
void tsr_emu_fence_mbarrier_init(void);
void tsr_emu_fence_async_shared(void);

/* Clusters; the rank of the caller itself stands for "this CTA". */
__attribute__((const)) unsigned tsr_emu_cluster_rank(void);
void tsr_emu_cluster_arrive(void);
void tsr_emu_cluster_wait(void);
__attribute__((const)) unsigned tsr_emu_cluster_size(void);
unsigned tsr_emu_cluster_map(unsigned address, unsigned rank);

/* Shared memory of any CTA of the cluster; bytes: 4, 8 or 16. */
void tsr_emu_cluster_load(void *to, unsigned address, unsigned bytes);
void tsr_emu_cluster_store(unsigned address, const void *from, unsigned bytes);
unsigned tsr_emu_cluster_add_u32(unsigned address, unsigned value);
void tsr_emu_cluster_add_f32(unsigned address, float value);

/* Until the grid before this one has ended. */
void tsr_emu_grid_wait(void);

/* Warps and warp groups. */
unsigned tsr_emu_elected_lane(void); /* the one that elect.sync picks in the caller's warp */
void tsr_emu_set_registers(int count, int raise);

/* The bulk copy engine. `mask` names the CTAs of the cluster that receive a load; 0: the caller's alone. */
void tsr_emu_tma_load(unsigned to, const void *map, unsigned bar, int rank, int x, int y, int z, int w, int v,
                      unsigned mask);
void tsr_emu_tma_store(const void *map, unsigned from, int rank, int x, int y, int z, int w, int v);
void tsr_emu_tma_commit(void);
void tsr_emu_tma_wait(int pending, int read_only);
void tsr_emu_tma_prefetch_map(const void *map);
void tsr_emu_tma_prefetch(const void *map, int rank);

/* The same without a map. reduction: a tsr_reduction, operation: a tsr_reduction_operation (ptx/reduction.h). */
void tsr_emu_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned bar, unsigned mask);
void tsr_emu_bulk_send(unsigned to, unsigned from, unsigned bytes, unsigned bar);
void tsr_emu_bulk_store(void *to, unsigned from, unsigned bytes);
void tsr_emu_bulk_prefetch(const void *from, unsigned bytes);
void tsr_emu_bulk_reduce(void *to, unsigned from, unsigned bytes, int reduction);
void tsr_emu_bulk_reduce_send(unsigned to, unsigned from, unsigned bytes, unsigned bar, int reduction);
void tsr_emu_tma_reduce(const void *map, unsigned from, int rank, int x, int y, int z, int w, int v, int operation);

/* Tensor cores. types: of D, A and B, as in the instruction's name. `a` of the second: the registers of A. */
void tsr_emu_wgmma_fence(void);
void tsr_emu_wgmma(float *d, int n, const char *types, unsigned long long a, unsigned long long b, int accumulate,
                   int mn_major_a, int mn_major_b);
void tsr_emu_wgmma_register_a(float *d, int n, const char *types, const unsigned a[4], unsigned long long b,
                              int accumulate, int mn_major_b);
void tsr_emu_wgmma_commit(void);
void tsr_emu_wgmma_wait(int pending);

#endif
