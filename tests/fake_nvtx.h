/* A profiler for tests, as far as it listens to NVTX: it writes down which ranges open and close. */
#ifndef TESTS_FAKE_NVTX_H
#define TESTS_FAKE_NVTX_H

typedef struct fake_nvtx {
    int refuses;           /* InitializeInjectionNvtx2 says no */
    int (*launches)(void); /* asked at each event; NULL: nobody is */
    int attached;          /* how often a program came, and what it said of itself */
    unsigned version, core_functions;
    int errors; /* tables that cannot be */
    int depth;
    char text[200]; /* "push NAME at LAUNCHES; pop at LAUNCHES; " */
} fake_nvtx;

/* The library exports it as fake_nvtx_state. */
#endif
