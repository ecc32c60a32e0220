/* asan_calls.h allows no access that AddressSanitizer's library would report, and hands it those of the register tiles
 * that are faults: every place and length around a block of memory, by the shadow; and in processes of their own, by
 * calls. */
#include "asan_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_BYTES = 72, ROOM = 16 /* of a block's redzones, at least */ };

/* 1 if a process that makes the access ends with a report of the library. */
static int is_reported(char *at, ptrdiff_t bytes, int is_store)
{
    int ends[2], status;
    char text[4096];
    size_t used = 0;
    if (pipe(ends) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        (is_store ? __asan_storeN : __asan_loadN)(at, bytes);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + used, sizeof text - 1 - used)) > 0;)
        used += (size_t)got;
    text[used] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    const char *const wanted = is_store ? "WRITE of size" : "READ of size";
    return status != 0 && strstr(text, "ERROR: AddressSanitizer") && strstr(text, wanted);
}

/* Not checked itself: it has the look at the shadow inlined. */
__attribute__((no_sanitize("address"))) static int check_block(size_t length, long *allowed)
{
    char *const block = malloc(length);
    int wrong = block == NULL;
    for (ptrdiff_t from = -ROOM; block && from < (ptrdiff_t)length + ROOM; from++)
        for (ptrdiff_t bytes = 1; bytes <= MOST_BYTES; bytes++) {
            const int is_plain = tests_asan_allows(block + from, bytes);
            *allowed += is_plain;
            if (is_plain && __asan_region_is_poisoned(block + from, (size_t)bytes)) {
                fprintf(stderr, "%zu bytes: %td from %td on are allowed\n", length, bytes, from);
                wrong = 1;
            }
        }
    free(block);
    return wrong;
}

int main(void)
{
    int wrong = 0;
    long allowed = 0;
    for (size_t length = 1; length <= 200; length++)
        wrong |= check_block(length, &allowed);
    if (allowed == 0) {
        fprintf(stderr, "nothing is allowed: every check goes to the library\n");
        wrong = 1;
    }
    static const struct {
        ptrdiff_t from, bytes;
        int is_fault;
    } calls[] = {{0, 32, 0}, {4, 32, 0}, {36, 64, 0}, {69, 31, 0}, {69, 32, 1}, {37, 64, 1}, {-1, 32, 1}, {100, 32, 1}};
    char *const block = malloc(100);
    for (size_t i = 0; block && i < sizeof calls / sizeof calls[0]; i++)
        for (int is_store = 0; is_store < 2; is_store++)
            if (is_reported(block + calls[i].from, calls[i].bytes, is_store) != calls[i].is_fault) {
                fprintf(stderr, "100 bytes: %s of %td from %td on is %sa fault\n", is_store ? "store" : "load",
                        calls[i].bytes, calls[i].from, calls[i].is_fault ? "" : "no ");
                wrong = 1;
            }
    free(block);
    return wrong;
}
