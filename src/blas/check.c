/* The reference's checks of arguments, and what happens when one fails. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "blas/blas.h"
#include "blas/call_log.h"

/* Netlib's cblas sets this for its own error handlers, which then tell row-major argument numbers apart. Other
 * libraries do not have it. */
extern int RowMajorStrg __attribute__((weak));

/* The same argument where A and B, M and N have not changed places. */
static int unswapped(int info)
{
    return info == 4 ? 5 : info == 5 ? 4 : info == 9 ? 11 : info == 11 ? 9 : info;
}

tsr_blas_place tsr_blas_check_c(int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, int64_t lda,
                                int64_t ldb, int64_t ldc)
{
    const int row_major = order == TSR_BLAS_ROW_MAJOR;
    const int op_a = tsr_blas_number(trans_a), op_b = tsr_blas_number(trans_b);
    if (!row_major && order != TSR_BLAS_COL_MAJOR)
        return (tsr_blas_place){1, "Illegal Order setting, %d\n", order};
    if (op_a < 0)
        return (tsr_blas_place){2, "Illegal TransA setting, %d\n", trans_a};
    if (op_b < 0)
        return (tsr_blas_place){3, "Illegal TransB setting, %d\n", trans_b};
    int info = row_major ? tsr_blas_check(op_b, op_a, n, m, k, ldb, lda, ldc)
                         : tsr_blas_check(op_a, op_b, m, n, k, lda, ldb, ldc);
    if (info == 0)
        return (tsr_blas_place){0, "", 0};
    info++; /* cblas has the order in front */
    if (&RowMajorStrg)
        RowMajorStrg = row_major;
    else if (row_major)
        info = unswapped(info);
    return (tsr_blas_place){info, "", 0};
}

int tsr_blas_own_number(int info)
{
    if (!&RowMajorStrg || !RowMajorStrg)
        return info;
    RowMajorStrg = 0;
    return unswapped(info);
}

int tsr_blas_find_handler(const char *name, const void *caller, void *handler)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    Dl_info place;
    struct link_map *map = NULL;
    if (!found && dladdr1(caller, &place, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name[0]) {
        void *library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (library) {
            found = dlsym(library, name);
            dlclose(library);
        }
    }
    memcpy(handler, &found, sizeof found); /* ISO C has no such conversion */
    return found != NULL;
}

void tsr_blas_complain(const char *routine, int info)
{
    int cancel; /* a call is no cancellation point */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (tsr_call_log_has_stderr())
        fprintf(stderr, " ** On entry to %s parameter number %d had an illegal value\n", routine, info);
    pthread_setcancelstate(cancel, NULL);
}
