/* NVIDIA GPUs, through the driver. */
#include "cuda/impl.h"

const tsr_backend tsr_cuda_backend = {
    .open = tsr_cuda_open,
    .close = tsr_cuda_close,
    .load = tsr_cuda_load,
    .launch = tsr_cuda_launch,
    .alloc = tsr_cuda_alloc,
    .free = tsr_cuda_free,
    .upload = tsr_cuda_upload,
    .download = tsr_cuda_download,
    .zero = tsr_cuda_zero,
    .synchronize = tsr_cuda_synchronize,
    .has_code = tsr_cuda_has_code,
    .async = &tsr_cuda_async,
};
