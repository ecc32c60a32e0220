#include "cli/explain_cpu.h"

#include <inttypes.h>
#include <stdarg.h>

#include "cli/output.h"

static void say(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(FILE *to, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    cli_print_wrapped(to, text, 0, 2);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void put_blocks(const lab_cpu_lesson *l, FILE *to)
{
    cli_table table;
    char bytes[32];
    const int wide = l->computed == TSR_F64 ? 8 : 4;
    const int64_t columns = least(l->region_n, l->n), rows = least(l->region_m, l->m);
    fputs("\nloops, from the outermost to the innermost\n", to);
    cli_table_begin(&table, "llrrl", "loop", "piece", "times", "bytes", "stays in");
    cli_table_row(&table, "regions", CLI_CELL("C %" PRId64 " x %" PRId64, rows, columns),
                  CLI_CELL("%" PRId64, l->grid_m * l->grid_n),
                  cli_text((char[32]){0}, 32, "%s", cli_bytes_text(bytes, (double)(rows * columns * l->elem_bytes))),
                  CLI_CELL("a task each, %d together", l->tasks_at_once));
    cli_table_row(&table, "KC", CLI_CELL("%" PRId64 " steps of K", l->kc),
                  CLI_CELL("%" PRId64, (l->k + l->kc - 1) / l->kc), "", "");
    cli_table_row(&table, "MC", CLI_CELL("A %" PRId64 " x %" PRId64, least(l->mc, rows), l->kc),
                  CLI_CELL("%" PRId64, (rows + l->mc - 1) / l->mc),
                  cli_text((char[32]){0}, 32, "%s", cli_bytes_text(bytes, (double)(least(l->mc, rows) * l->kc * wide))),
                  "L2");
    cli_table_row(&table, "NR", CLI_CELL("panel of B, %" PRId64 " x %d", l->kc, l->nr),
                  CLI_CELL("%" PRId64, (columns + l->nr - 1) / l->nr),
                  cli_text((char[32]){0}, 32, "%s", cli_bytes_text(bytes, (double)(l->kc * l->nr * wide))), "L1");
    cli_table_row(&table, "MR", CLI_CELL("panel of A, %d x %" PRId64, l->mr, l->kc),
                  CLI_CELL("%" PRId64, (least(l->mc, rows) + l->mr - 1) / l->mr),
                  cli_text((char[32]){0}, 32, "%s", cli_bytes_text(bytes, (double)(l->kc * l->mr * wide))),
                  "streams by");
    cli_table_row(&table, "micro-tile", CLI_CELL("sums %d x %d", l->mr, l->nr), "1",
                  cli_text((char[32]){0}, 32, "%s", cli_bytes_text(bytes, (double)(l->mr * l->nr * wide))),
                  CLI_CELL("%d registers of %d elements", l->mr * l->nr / l->lanes, l->lanes));
    cli_table_end(&table, to, 2);
    say(to, "A is %s, B is %s%s; a task packs into %s.",
        l->a_in_place ? "read where it lies" : "packed, a block at a time", l->b_packing,
        l->past_cache ? ", C is written past the caches" : "", cli_bytes_text(bytes, (double)l->packed_bytes));
    say(to,
        "A step of the micro-kernel reads %d elements of A and %d of B and makes %d multiply-adds; C is read and "
        "written "
        "once for each of the %" PRId64 " blocks of K.",
        l->mr, l->nr, l->mr * l->nr, (l->k + l->kc - 1) / l->kc);
}

void cli_cpu_text(const lab_cpu_lesson *l, FILE *to)
{
    char l1[32], l2[32], l3[32];
    say(to, "%s: C = A B, %" PRId64 " x %" PRId64 " x %" PRId64 " %s, layout %c%c, on this machine", l->kernel, l->m,
        l->n, l->k, tsr_dtype_name(l->dtype), l->trans_a ? 't' : 'n', l->trans_b ? 't' : 'n');
    say(to, "%s, %d thread%s; L1 %s, L2 %s, L3 %s; vectors of %d elements", l->isa, l->threads,
        l->threads == 1 ? "" : "s", cli_bytes_text(l1, (double)l->l1_bytes), cli_bytes_text(l2, (double)l->l2_bytes),
        cli_bytes_text(l3, (double)l->l3_bytes), l->lanes);
    lab_cpu_lesson told = *l;
    if (l->widened_m) {
        told.m = l->widened_m;
        told.n = l->widened_n;
        told.k = l->widened_k;
        say(to,
            "A and B are widened to f32, which is exact, for %" PRId64 " x %" PRId64 " of C and %" PRId64
            " steps of K at a time (src/cpu/widened.c). Below is one such product in f32, whose sums lie beside C "
            "until all of K is done; then they are rounded.",
            told.m, told.n, told.k);
    }
    fputc('\n', to);
    if (l->k_parts > 1)
        say(to, "algorithm: %s (%s), K in %d parts (src/cpu/split_k.c)", l->algorithm, l->source, l->k_parts);
    else
        say(to, "algorithm: %s (%s)", l->algorithm, l->source);
    say(to, "why: %s.", l->why);
    if (l->k_parts > 1)
        say(to,
            "C has work for few threads and K is long: threads sum the parts of K apart, whatever their number, and "
            "add the partial sums in the order of K.");
    if (l->is_blocked)
        put_blocks(&told, to);
    else
        say(to,
            "Its register tile is %d x %d: %d vectors of sums. Larger products are cut into blocks: try --m 2000 "
            "--n 2000 --k 2000.",
            l->mr, l->nr, l->mr * l->nr / l->lanes);
}

void cli_cpu_sequential_text(const char *kernel, tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int trans_a,
                             int trans_b, FILE *to)
{
    enum { LINE_BYTES = 64 };
    const int elem_bytes = (int)tsr_dtype_bytes(dtype);
    const int64_t step_a = (trans_a ? m : 1) * elem_bytes, step_b = (trans_b ? 1 : n) * elem_bytes;
    say(to, "%s: the definition, in one thread (src/cpu/sequential.c)", kernel);
    say(to, "C = A B, %" PRId64 " x %" PRId64 " x %" PRId64 " %s, layout %c%c", m, n, k, tsr_dtype_name(dtype),
        trans_a ? 't' : 'n', trans_b ? 't' : 'n');
    fputs("\n  for i in 0.. M        rows of C\n"
          "    for j in 0.. N      columns of C\n"
          "      for p in 0.. K    one running sum: sum += A[i,p] * B[p,j]\n\n",
          to);
    cli_table table;
    cli_table_begin(&table, "lrrr", "operand", "loads", "elements", "bytes from step to step of K");
    cli_table_row(&table, "A", CLI_CELL("%" PRId64, m * n * k), CLI_CELL("%" PRId64, m * k),
                  CLI_CELL("%" PRId64, step_a));
    cli_table_row(&table, "B", CLI_CELL("%" PRId64, m * n * k), CLI_CELL("%" PRId64, k * n),
                  CLI_CELL("%" PRId64, step_b));
    cli_table_end(&table, to, 2);
    say(to,
        "Each element of A is loaded %" PRId64 " times and each of B %" PRId64
        " times. %s Each addition waits for the one "
        "before: the processor's vectors and most of its adders have nothing to do. cpu-tiled keeps a tile of sums in "
        "registers instead.",
        n, m,
        step_b >= LINE_BYTES
            ? "Each step of K takes B's element from another cache line, of which the other elements go "
              "unused until the next column."
            : "Neighbouring steps of K share a cache line.");
}
