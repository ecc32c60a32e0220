/* Choosing configs of the kernel table by name. */
#ifndef LAB_KERNELS_H
#define LAB_KERNELS_H

#include "lab/common/product_types.h"
#include "tessera.h"

struct tsr_config;

typedef struct lab_kernel {
    tsr_kernel_info info;
    tsr_compute asked;               /* of descriptors; the kernel's own, info.compute, or one that it stands in for */
    double bound_c;                  /* the config's error constant */
    int bm, bn, bk;                  /* tile of D and step along K; 0: the config has none */
    int align_elems[4];              /* of A, B, C, D, after padding if a plan can pad it; 1: any alignment */
    const struct tsr_config *config; /* what the library knows of it; NULL: none of its schedules is forced */
} lab_kernel;

typedef struct lab_kernel_list {
    lab_kernel *items;
    size_t count;
} lab_kernel_list;

/* In all of these a schedule may stand behind a kernel's or instance's name, "wgmma@stream-k=3/2", which none asks for.
 */

/* 1 if the instance multiplies whole A and B of such types. */
int lab_instance_takes(const char *instance, const lab_types *types);

/* The same of any kernel: of one that multiplies compressed operands alone, A is compressed 2:4. */
int lab_instance_accepts(const char *instance, const lab_types *types);
/* The same of a kernel on a device: 1 if one of its instances accepts. 0: their reasons, each once, of those that take
 * A's type if any does; "" if none is for such a device. */
int lab_kernel_accepts(const char *kernel, const char *device, const lab_types *types, char *reasons,
                       size_t reasons_bytes);

/* 1 if the instance takes an A of the type (TSR_DTYPE_NONE: of any) in this arithmetic: TSR_COMPUTE_DEFAULT is that of
 * the type, TSR_COMPUTE_COUNT any. */
int lab_kernel_computes(const lab_kernel *kernel, tsr_dtype a, tsr_compute compute);

/* The arithmetic by which a kernel, by name or instance, makes such products on a device, where none is asked for:
 * another than that of the types if it has them in no other way. */
tsr_compute lab_kernel_compute(const char *kernel, const char *device, const lab_types *types);

/* 1 if the instance multiplies such operands of which A or B, as `flag` says (TSR_SPARSE24_A or _B), is compressed. */
int lab_instance_takes_sparse(const char *instance, const lab_types *types, unsigned flag);
/* lab_kernel_accepts with such operands; flag 0: the same. */
int lab_kernel_accepts_sparse(const char *kernel, const char *device, const lab_types *types, unsigned flag,
                              char *reasons, size_t reasons_bytes);

/* 1 if a kernel, by name or instance, multiplies compressed operands alone. */
int lab_config_is_sparse(const struct tsr_config *config);
int lab_kernel_is_sparse(const char *kernel);

/* The instances that `names` asks for and that `device` ("cpu", "cuda:0", "emu") could run: "all", or kernel names
 * ("tiled") and instance names ("tiled_f32_t16") with commas between. A name that does not exist, or exists only on
 * another kind of device, is TSR_INVALID_ARGUMENT; the message lists what there is. */
tsr_status lab_kernels_select(const char *names, const char *device, lab_kernel_list *out);
void lab_kernels_free(lab_kernel_list *list);

#endif
