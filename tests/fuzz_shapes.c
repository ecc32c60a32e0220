/* libFuzzer: a file of problem sizes, any bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lab/common/shapes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_shapes shapes;
    const tsr_status status = lab_shapes_parse("fuzz.txt", (const char *)data, size, &shapes);
    require((status == TSR_OK) == (shapes.count > 0));
    require(shapes.count <= LAB_SHAPES_MAX);
    if (status != TSR_OK)
        require(strncmp(tsr_last_error(), "fuzz.txt", 8) == 0);
    for (size_t i = 0; i < shapes.count; i++) {
        const lab_shape shape = shapes.items[i];
        int64_t elements;
        require(shape.m >= 0 && shape.n >= 0 && shape.k >= 0);
        require(!__builtin_mul_overflow(shape.m, shape.n, &elements));
    }
    lab_shapes_free(&shapes);
    return 0;
}
