/* The call log of the libraries that stand in for others: TESSERA_LOG=calls appends one line for each call to the file
 * TESSERA_LOG_FILE, or to stderr. libtessera_blas and libtessera_cublas each compile call_log.c. */
#ifndef TSR_BLAS_CALL_LOG_H
#define TSR_BLAS_CALL_LOG_H

#include <stdatomic.h>

/* Unknown until the environment was read. */
enum { TSR_CALL_LOG_UNKNOWN, TSR_CALL_LOG_OFF, TSR_CALL_LOG_ON };
extern __attribute__((visibility("hidden"))) atomic_int tsr_call_log_state;

/* The name of the library in what it tells; each library defines its own. */
extern __attribute__((visibility("hidden"))) const char tsr_call_log_library[];

/* 1 if calls are logged; reads the environment at the first call. */
int tsr_call_log_is_on(void);
/* 1 if the process began with a standard error. */
int tsr_call_log_has_stderr(void);
/* Appends a line of `length` bytes, whole. A line that is lost is told once. */
void tsr_call_log_line(const char *line, int length);
/* `text`, and in it the number as the log's readers want it, whatever the program's locale. */
enum { TSR_CALL_LOG_NUMBER = 48 };
const char *tsr_call_log_number(double value, char text[TSR_CALL_LOG_NUMBER]);
/* What is worth telling though nothing failed, once for each `told`: on stderr, if the process began with one. */
void tsr_call_log_tell(atomic_flag *told, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
