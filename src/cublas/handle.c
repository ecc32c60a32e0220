/* What cuBLAS has no getter for: a handle's workspace, and its GPU. Handles that were made before this library could
 * see it have no record, and no workspace of the caller's. */
#include <stdlib.h>

#include "cublas/cublas.h"

enum { CHAINS = 256 };

typedef struct record {
    struct record *next;
    const void *handle;
    int node;
    tsr_handle_view view;
} record;

static record *chains[CHAINS];

static record **place_of(int node, const void *handle)
{
    record **at = &chains[((uintptr_t)handle >> 4 ^ (uintptr_t)handle >> 12) % CHAINS];
    while (*at && !((*at)->handle == handle && (*at)->node == node))
        at = &(*at)->next;
    return at;
}

/* Made if need be; NULL when memory runs out. */
static record *record_of(int node, const void *handle)
{
    record **at = place_of(node, handle);
    if (!*at && (*at = calloc(1, sizeof **at)) != NULL)
        **at = (record){NULL, handle, node, {-1, NULL, 0}};
    return *at;
}

void tsr_handle_created(int node, void *handle)
{
    const int ordinal = tsr_cublas_device();
    tsr_cublas_lock();
    record *known = record_of(node, handle);
    if (known)
        known->view = (tsr_handle_view){ordinal, NULL, 0};
    tsr_cublas_unlock();
    if (tsr_cublas_has_lines(node, ordinal))
        tsr_cublas_context(ordinal); /* so that the first product does not wait for it */
}

void tsr_handle_destroyed(int node, void *handle)
{
    tsr_cublas_lock();
    record **at = place_of(node, handle), *gone = *at;
    if (gone)
        *at = gone->next;
    tsr_cublas_unlock();
    free(gone);
}

void tsr_handle_set_workspace(int node, void *handle, void *workspace, size_t bytes)
{
    tsr_cublas_lock();
    record *known = workspace ? record_of(node, handle) : *place_of(node, handle);
    if (known) {
        known->view.workspace = workspace;
        known->view.workspace_bytes = workspace ? bytes : 0;
    }
    tsr_cublas_unlock();
}

tsr_handle_view tsr_handle_look(int node, void *handle)
{
    tsr_cublas_lock();
    const record *known = *place_of(node, handle);
    const tsr_handle_view view = known ? known->view : (tsr_handle_view){-1, NULL, 0};
    tsr_cublas_unlock();
    return view;
}
