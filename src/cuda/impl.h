/* What the files of src/cuda share: one open GPU. */
#ifndef TSR_CUDA_IMPL_H
#define TSR_CUDA_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/backend.h"
#include "cuda/driver.h"

/* A config's function on this GPU. Entries are added in front and live until close. */
struct tsr_loaded {
    const tsr_config *config;
    const void *image;    /* that the module was made of */
    tsr_cu_module module; /* one for all entries of an image */
    int has_shared;       /* the module is an earlier entry's, which unloads it */
    tsr_cu_function function;
    int clusters; /* of a persistent config with more than two CTAs in one: so many run at the same time; 0: not known
                   */
    tsr_loaded *next;
};

typedef struct tsr_cuda {
    tsr_driver driver;
    tsr_cu_device device;
    tsr_cu_context context; /* the device's primary context, retained */
    const tsr_allocator *allocator;
    pthread_mutex_t lock; /* over `loaded` */
    tsr_loaded *loaded;
    atomic_uint fatal; /* the result that ended the context; 0: it lives */
} tsr_cuda;

/* Between enter and leave the device's context is current on this thread; leave restores the caller's. enter fails,
 * and leave must not be called, when the context cannot be entered or has died. */
tsr_status tsr_cuda_enter(tsr_device *device);
void tsr_cuda_leave(tsr_device *device);

/* Turns a failed driver call into a status and a message that names the device and the call; remembers fatal results.
 */
tsr_status tsr_cuda_fail(tsr_device *device, const char *call, tsr_cu_result result);

/* The entries of the backend's table. */
tsr_status tsr_cuda_open(int ordinal, const tsr_backend_options *options, tsr_device *out);
void tsr_cuda_close(tsr_device *device);
tsr_status tsr_cuda_load(tsr_device *device, const tsr_config *config, const tsr_loaded **out);
tsr_status tsr_cuda_launch(tsr_device *device, const tsr_launch *launch);
tsr_status tsr_cuda_alloc(tsr_device *device, size_t bytes, void **out);
tsr_status tsr_cuda_free(tsr_device *device, void *pointer);
tsr_status tsr_cuda_zero(tsr_device *device, void *to, size_t bytes, void *stream);
tsr_status tsr_cuda_upload(tsr_device *device, void *to, const void *from, size_t bytes, void *stream);
tsr_status tsr_cuda_download(tsr_device *device, void *to, const void *from, size_t bytes, void *stream);
tsr_status tsr_cuda_synchronize(tsr_device *device, void *stream);
extern const tsr_async tsr_cuda_async;
int tsr_cuda_has_code(const tsr_config *config, const tsr_device *device, char *reason, size_t reason_bytes);

/* Loads `image` for the config and makes it resident; tsr_cuda_load looks the image up in the build's table first. */
tsr_status tsr_cuda_load_image(tsr_device *device, const tsr_config *config, const void *image, const tsr_loaded **out);

/* 1 if code that the toolkit `toolkit_version` built for a config runs on this architecture with this driver; the
 * reason otherwise. Instances hold code for 8.0, for 9.0 and PTX. toolkit_version 0: nothing was built. */
int tsr_cuda_code_runs(const tsr_config *config, int arch, int driver_version, int toolkit_version, char *reason,
                       size_t reason_bytes);

/* Cores of one SM that finish a fused multiply-add each clock. f64 is 0 where only the device's attribute knows. */
void tsr_cuda_lanes(int arch, int *f32, int *f64);

/* Fills peaks from out->cuda. f32_per_f64 is the device's attribute; used for architectures that the table lacks. */
void tsr_cuda_set_peaks(tsr_device *out, int f32_per_f64);

/* Bytes per second that one direction of a PCI Express link carries, from sysfs' words: "32.0 GT/s PCIe" and "16".
 * 0 if they say nothing of use. */
double tsr_pcie_bytes_per_s(const char *speed, const char *width);

#endif
