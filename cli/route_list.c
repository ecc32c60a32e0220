#include "cli/route_list.h"

#include <stdlib.h>

tsr_status cli_route(tsr_context *context, const tsr_gemm_desc *desc, cli_route_list *out)
{
    out->items = NULL;
    out->count = 0;
    size_t capacity;
    tsr_status status = tsr_route(context, desc, NULL, sizeof *out->items, 0, &capacity);
    if (status != TSR_OK || capacity == 0)
        return status;
    out->items = calloc(capacity, sizeof *out->items);
    if (!out->items)
        return TSR_OUT_OF_MEMORY;
    status = tsr_route(context, desc, out->items, sizeof *out->items, capacity, &out->count);
    if (status != TSR_OK)
        cli_route_free(out);
    else if (out->count > capacity)
        out->count = capacity;
    return status;
}

void cli_route_free(cli_route_list *list)
{
    free(list->items);
    list->items = NULL;
    list->count = 0;
}
