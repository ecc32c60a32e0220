/* A CUPTI for tests: its calls keep a record, check their order and arguments, and fail where they are told to. */
#ifndef TESTS_FAKE_CUPTI_H
#define TESTS_FAKE_CUPTI_H

#include "lab/predict/cupti_abi.h"

typedef struct fake_cupti {
    /* What goes wrong. */
    const char *fail_call; /* this call returns fail_result */
    lab_cupti_result fail_result;
    const char *missing_metric; /* no such counter on this GPU */
    int passes;                 /* that the counters need */
    size_t dropped;
    /* What happened. */
    int started, hosts, ranges; /* alive */
    int passes_made, sessions;
    int errors; /* calls out of order, or with arguments that cannot be */
    size_t metrics;
    tsr_cu_context context;
} fake_cupti;

typedef struct fake_cupti_access {
    fake_cupti *state;
    void (*reset)(void);
} fake_cupti_access;

#endif
