/* What the maker of a GPU publishes of it: the record at the head of its file, CHIP.def.
 *
 * From NVIDIA's white papers of the A100, H100 and GA102 architectures, the CUDA programming guide's table of compute
 * capabilities, and the products' data sheets. The bandwidth of L2 is no published number: 5120 bytes a clock is what
 * the A100 white paper gives; the others have 64 bytes for each SM and clock that their crossbars carry (GA102: 96
 * slices of 32 bytes, with a slice of 64 KiB). Load/store units are those of the white papers' pictures of an SM: 32 on
 * the GA100 and GH100, 16 on the GA102, where a warp's load takes two clocks. */
#ifndef TSR_PLAN_CHIP_H
#define TSR_PLAN_CHIP_H

typedef struct tsr_chip {
    const char *id;          /* "h200", as the command line says it */
    const char *name;        /* "NVIDIA H200" */
    const char *driver_name; /* how the driver's name of it begins; NULL: with `name` */
    const char *priced_name; /* how the driver's names of all GPUs begin that have its prices; NULL: as driver_name */
    int arch;                /* 90 for compute capability 9.0 */
    int sms;
    double clock_hz;           /* boost */
    double memory_bytes_per_s; /* peak of DRAM */
    double fma_per_clock;      /* FP32 multiply-adds of one SM */
    double fma64_per_clock;
    double lsu_lanes_per_clock;      /* lanes of loads and stores that one SM starts */
    double tensor_flops_per_clock;   /* of one SM, 16-bit inputs, sums in FP32, dense */
    double tensor64_flops_per_clock; /* in f64; 0: the units of fma64_per_clock do it */
    int l1_bytes;                    /* L1 and shared memory of an SM together */
    int shared_bytes;                /* at most of that */
    long long l2_bytes;
    int l2_partitions;         /* each with its own SMs */
    double l2_bytes_per_clock; /* of all SMs together, reading */
    int threads_per_sm, ctas_per_sm, registers_per_sm;
    int memory_bits; /* width of the bus, and its clock: two transfers each; 0: only the product is known */
    double memory_clock_hz;
} tsr_chip;

#endif
