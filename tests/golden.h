/* Golden files: tests/golden/NAME.txt holds one line "KEY : ANSWER" for each case of a test, lines that begin with #
 * are for the reader. The test states its cases in order; those whose answer differs are printed with both answers.
 * With
 * --update the program writes the file anew instead. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdint.h>

typedef struct golden golden;

/* Reads golden file `name` and the program's options: --update, --file PATH (another file). `about`: the comment that
 * an updated file begins with. Ends the program with a message if that cannot be done. */
golden *golden_open(const char *name, const char *about, int argc, char **argv);

/* A case: `answer` must be the file's to the letter. If `price` is 0 or more, the file's answer ends in a number more,
 * which must be `price` within 1e-5 of it. Keys are unique; neither text may hold " : " or a newline. */
void golden_case(golden *file, const char *key, const char *answer, double price);

/* 1 if some case whose key begins with `prefix` can be compared or is to be written. 0, and a message: the file has
 * none yet; the machine that can run them should. */
int golden_wants(golden *file, const char *prefix);

/* Cases that cannot run here, all whose keys begin with `prefix`: their lines stay as they are. `why` is printed. */
void golden_not_run(golden *file, const char *prefix, const char *why);

/* Prints what differs and how many cases were compared, or writes the file; frees it. The program's exit code: 1 if a
 * case differs, is missing in the file, or is in the file alone. */
int golden_close(golden *file);

/* Numbers that are the same everywhere: 0 .. below - 1. */
uint32_t golden_draw(uint64_t *state, uint32_t below);

#endif
