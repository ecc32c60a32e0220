/* Device code that lies in another file. A wheel has a library and a command, and device code is most of both: its
 * command has the table of device code without the code (generated/kernel_tables_apart.c) and takes that from the
 * library, ../libtessera.so.0 as seen from the command's folder. */
#ifndef TSR_CUDA_CODE_FILE_H
#define TSR_CUDA_CODE_FILE_H

#include "core/device_code.h"
#include "tessera.h"

/* The shared library's table of device code, by the name under which other files find it. */
extern const tsr_device_code *const tsr_device_file;

/* The image of an entry, its PTX or its machine code: its own, or that of the same machine code in the library.
 * TSR_NO_DEVICE if the library is missing or of another build. Any thread may call it at any time. */
tsr_status tsr_cuda_image(const tsr_device_code *code, int as_ptx, const unsigned char **image);

#endif
