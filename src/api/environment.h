/* What the environment says of threads. */
#ifndef TSR_API_ENVIRONMENT_H
#define TSR_API_ENVIRONMENT_H

/* The first of TESSERA_, OPENBLAS_, MKL_, BLIS_ and OMP_NUM_THREADS that holds a number of threads; of another
 * library's no more than there are processors. 0: none does. */
int tsr_threads_from_environment(void);

#endif
