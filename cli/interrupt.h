/* Ctrl-C and its kin (SIGINT, SIGTERM, SIGHUP). What a signal handler may read has to be global: this is the command's
 * only mutable global state, all of it in interrupt.c. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <signal.h>

/* From now on the first signal only sets the flag, so that work can stop where nothing is lost; a second one, if it
 * is no echo of the first (0.3 s), ends the process. The flag fits the `stop` fields of lab/. */
const volatile sig_atomic_t *cli_interrupt_catch(void);

/* The signal that came, 0 if none. */
int cli_interrupted(void);

/* Ends the process by the signal that came, as a shell expects; returns if none did. */
void cli_interrupt_die(void);

/* A file to remove if a signal ends the process; NULL when it needs no care any more. One at a time. A path of 4096
 * bytes or more is not kept. */
void cli_interrupt_remove(const char *path);

/* A mapped input that shrinks while it is read raises SIGBUS: says so and exits with CLI_FAILED instead of dumping
 * core. */
void cli_interrupt_explain_bus_error(void);

#endif
