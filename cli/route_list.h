/* All candidates of tsr_route. */
#ifndef CLI_ROUTE_LIST_H
#define CLI_ROUTE_LIST_H

#include "tessera.h"

typedef struct cli_route_list {
    tsr_candidate *items; /* from malloc */
    size_t count;
} cli_route_list;

tsr_status cli_route(tsr_context *context, const tsr_gemm_desc *desc, cli_route_list *out);
void cli_route_free(cli_route_list *list);

#endif
