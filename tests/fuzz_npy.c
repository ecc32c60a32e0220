/* libFuzzer: the header of a .npy file, any bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_npy_header header;
    cli_message error;
    memset(&error, 'x', sizeof error);
    if (!cli_npy_parse(data, size, &header, &error)) {
        require(memchr(error.text, 0, sizeof error.text) != NULL && error.text[0] != 0);
        for (const char *at = error.text; *at; at++) /* nothing that a terminal would obey */
            require(*at >= 0x20 && *at < 0x7f);
        return 0;
    }
    require(header.rows >= 0 && header.columns >= 0 && header.batch >= 0);
    require(header.stacked || header.batch == 1);
    require(header.data_offset <= size && header.data_bytes == size - header.data_offset);
    require((uint64_t)header.batch * (uint64_t)header.rows * (uint64_t)header.columns *
                cli_npy_element_bytes(&header) ==
            header.data_bytes);
    require(header.opaque ? header.dtype == TSR_DTYPE_NONE : tsr_dtype_bytes(header.dtype) > 0);
    return 0;
}
