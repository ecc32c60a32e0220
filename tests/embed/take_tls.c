/* A library that takes BYTES of what the loader keeps for thread-local variables of libraries opened later. */
__thread char taken[BYTES] __attribute__((tls_model("initial-exec")));
__attribute__((visibility("default"))) char *take(void);

char *take(void)
{
    return taken;
}
