/* What the files of `tessera bench` share. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <signal.h>

#include "cli/args.h"
#include "cli/output.h"
#include "lab/bench/bench.h"

/* Formats beyond those of a report. */
enum { CLI_BENCH_LADDER = LAB_MD + 1, CLI_BENCH_SVG, CLI_BENCH_REGRET };

enum { CLI_BENCH_PEERS = 6 }; /* of the choices "cublas|cusparselt|openblas|blis|onednn|memory" */

typedef struct cli_bench_settings {
    cli_name_list kernels;
    const char *sizes, *shapes, *device, *out, *compare, *from, *replay, *epilogue;
    cli_dtype_list dtypes;
    cli_layout_list layouts;
    unsigned peers;  /* bits of the choices */
    int format;      /* lab_format, or one of the two below; -1: not chosen */
    lab_types types; /* beside A's, which are `dtypes` */
    int scales;      /* lab_scales_given; the choices of --scales have its order */
    int sparse;      /* of the choices "a|b"; -1: neither */
    int instances, graph, batch_invariant;
    int64_t rounds, threads, random, seed, batch;
    double beta;
} cli_bench_settings;

/* The command at work. */
typedef struct cli_bench_session {
    const cli_command *self;
    const cli_bench_settings *set;
    const volatile sig_atomic_t *stop;
    cli_progress *progress;
    lab_bench_options options;
} cli_bench_session;

/* Devices that are open: the one asked for; for "auto" the CPU and the first GPU, where there is one. */
typedef struct cli_bench_devices {
    lab_bench items[2];
    size_t count;
} cli_bench_devices;

/* Opens them and the peers; what is missing is told on stderr. CLI_CONTINUE, or the exit code. */
int cli_bench_open(const cli_bench_session *session, unsigned peers, cli_bench_devices *out);
void cli_bench_close(cli_bench_devices *devices);

/* What one cell runs: kernels as the library is asked for them. */
typedef struct cli_bench_entries {
    lab_entry *items;
    size_t count;
} cli_bench_entries;

/* TSR_SPARSE24_A or _B; 0: both operands are whole, but for kernels that multiply compressed ones alone. */
unsigned cli_bench_sparse(const cli_bench_settings *set);
/* The types of a cell whose A is of this dtype. */
lab_types cli_bench_types(const cli_bench_settings *set, tsr_dtype dtype);
/* The kernels asked for, on this device and for these types; few or none where they are of other kinds. 0 if memory ran
 * out. */
int cli_bench_choose(const cli_bench_settings *set, const lab_bench *bench, const lab_types *types,
                     cli_bench_entries *out);
void cli_bench_entries_free(cli_bench_entries *entries);

/* 0 if no kernel asked for takes the dtype on these devices. Each named one that does not is told on stderr with its
 * reason, once: told[n] has a bit for each dtype. */
int cli_bench_has_kernels(const cli_bench_session *session, const cli_bench_devices *devices, tsr_dtype dtype,
                          unsigned told[CLI_LIST_MAX]);

/* `bench` without --compare: measures what the settings name. An exit code. */
int cli_bench_run(const cli_bench_session *session);

/* `bench --from`: shows the lines of an old file. An exit code. */
int cli_bench_show(const cli_bench_session *session);

/* Shows records as a ladder, svg or regret. 0 after a failure, with tsr_last_error(). */
int cli_bench_show_records(const cli_bench_settings *set, const lab_record *records, size_t count, FILE *to);

/* 1 if --format is ladder or svg. */
int cli_bench_is_ladder(const cli_bench_settings *set);
/* 1 if --format shows all records together: ladder, svg or regret. */
int cli_bench_is_whole(const cli_bench_settings *set);

/* `bench --compare`: measures the lines of an old file again. An exit code. */
int cli_bench_compare(cli_bench_session *session);

#endif
