/* A pipeline as text. */
#include "cli/explain_pipeline.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

enum {
    LABEL = 16, /* columns of the time line's labels */
    CELL = 4,   /* of a tick */
    FEW_TICKS = 30,
    FEW_STEPS = 12,
    FEW_UNITS = 16,
    INDENT = 2
};

/* A line of cells, which ends with its last letter. */
typedef struct cells {
    char text[512];
    size_t used;
} cells;

static void add_cell(cells *line, int width, const char *text)
{
    const int written = snprintf(line->text + line->used, sizeof line->text - line->used, "%-*s", width, text);
    if (written > 0 && line->used + (size_t)written < sizeof line->text)
        line->used += (size_t)written;
}

static void end_cells(cells *line, FILE *to)
{
    while (line->used > 0 && line->text[line->used - 1] == ' ')
        line->used--;
    fprintf(to, "%.*s\n", (int)line->used, line->text);
    line->used = 0;
}

static void say(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(FILE *to, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    cli_print_wrapped(to, text, 0, INDENT);
}

const char *cli_pipeline_role(const lab_pipeline *p, int index, char out[64])
{
    static const char *const names[] = {"idle", "producer", "transposers", "consumers"};
    const lab_pipe_role *role = &p->roles[index];
    char name[32];
    snprintf(name, sizeof name, "%s", names[role->kind]);
    if (role->kind == LAB_ROLE_CONSUMER && p->has_wgmma)
        snprintf(name, sizeof name, "group %d", role->first_warp / 4);
    if (role->warps == 1)
        snprintf(out, 64, "%s, warp %d", name, role->first_warp);
    else
        snprintf(out, 64, "%s, warps %d-%d", name, role->first_warp, role->first_warp + role->warps - 1);
    return out;
}

/* "A[0..63,128..191]" */
static const char *extent_text(char operand, const lab_pipe_extent *e, char out[96])
{
    if (e->row1 < e->row0)
        snprintf(out, 96, "-");
    else
        snprintf(out, 96, "%c[%" PRId64 "..%" PRId64 ",%" PRId64 "..%" PRId64 "]", operand, e->row0, e->row1,
                 e->column0, e->column1);
    return out;
}
#define EXTENT(operand, e) extent_text(operand, e, (char[96]){0})

/* "0..127" */
static const char *range_text(int64_t first, int64_t last, char out[48])
{
    snprintf(out, 48, last < first ? "-" : "%" PRId64 "..%" PRId64, first, last);
    return out;
}
#define RANGE(first, last) range_text(first, last, (char[48]){0})

/* ---- head ------------------------------------------------------------------------------------------------------- */

static void put_head(const lab_pipeline *p, FILE *to)
{
    char bytes[32], types[LAB_TYPES_TEXT];
    say(to, "%s: %s (%s)", p->instance, p->summary, p->source);
    say(to,
        "C = A B, %" PRId64 " x %" PRId64 " x %" PRId64 " %s, layout %c%c, schedule %s: %" PRId64
        " CTAs%s of %d threads with %d bytes of shared memory; tiles of %d x %d",
        p->m, p->n, p->k, lab_types_pair(&p->types, types), p->trans_a ? 't' : 'n', p->trans_b ? 't' : 'n', p->schedule,
        p->ctas, p->cluster > 1 ? cli_text((char[32]){0}, 32, " in clusters of %d", p->cluster) : "", p->threads,
        p->smem_bytes, p->bm, p->bn);
    if (p->cluster > 1)
        say(to, "Followed: CTA %" PRId64 ", rank %" PRId64 " of its cluster.", p->cta, p->rank);
    else
        say(to, "Followed: CTA %" PRId64 ".", p->cta);
    if (p->is_sparse_a)
        say(to,
            "A is compressed 2:4: its boxes are of the values that are kept, half of K, and its metadata comes beside "
            "them.");
    if (p->cluster_reads > 0)
        say(to, "Its threads read %s of shared memory of the cluster's CTAs.", cli_bytes_text(bytes, p->cluster_reads));
    if (p->sent_bytes > 0)
        say(to, "The copy engine sends %s of its sums to CTAs of the cluster.", cli_bytes_text(bytes, p->sent_bytes));
}

static int put_roles(const lab_pipeline *p, FILE *to)
{
    cli_table table;
    fputs("\nroles\n", to);
    cli_table_begin(&table, "llrl", "warps", "role", "registers", "does");
    for (size_t i = 0; i < p->role_count; i++) {
        const lab_pipe_role *role = &p->roles[i];
        char does[160] = "has nothing to do";
        if (role->kind == LAB_ROLE_PRODUCER)
            snprintf(does, sizeof does, "waits for empty, requests boxes of the copy engine");
        else if (role->kind == LAB_ROLE_TRANSPOSER)
            snprintf(does, sizeof does, "transposes what came along K, then arrives at full");
        else if (role->kind == LAB_ROLE_CONSUMER)
            snprintf(does, sizeof does, "%s%s",
                     p->stages ? "waits for full, multiplies, arrives at empty" : "loads and multiplies",
                     p->has_wgmma ? " (wgmma)"
                     : p->has_mma ? " (mma.sync)"
                                  : " (fused multiply-adds)");
        char name[64];
        cli_pipeline_role(p, (int)i, name);
        name[strcspn(name, ",")] = '\0';
        cli_table_row(&table,
                      role->warps == 1 ? CLI_CELL("%d", role->first_warp)
                                       : CLI_CELL("%d-%d", role->first_warp, role->first_warp + role->warps - 1),
                      name, role->registers ? CLI_CELL("%d", role->registers) : "-", does);
    }
    return cli_table_end(&table, to, INDENT);
}

/* ---- time line -------------------------------------------------------------------------------------------------- */

/* The step in a line's cell, or -1, and the letter before it. */
static int mark_at(const lab_pipeline *p, int role, lab_pipe_mark_kind kind, double tick, int *unit)
{
    for (size_t i = 0; i < p->mark_count; i++) {
        const lab_pipe_mark *m = &p->marks[i];
        if (m->role == role && m->kind == kind && m->from < tick + 1 && m->to > tick) {
            *unit = m->unit;
            return m->step >= 0 ? m->step : 0;
        }
    }
    return -1;
}

static int has_marks(const lab_pipeline *p, int role, lab_pipe_mark_kind kind)
{
    for (size_t i = 0; i < p->mark_count; i++)
        if (p->marks[i].role == role && p->marks[i].kind == kind)
            return 1;
    return 0;
}

static void put_stage(const lab_pipeline *p, int stage, double tick, cells *line)
{
    for (size_t i = p->step_count; i-- > 0;) {
        const lab_pipe_step *s = &p->steps[i];
        const double end = s->free >= 0 ? s->free : p->ticks;
        if (s->stage != stage || s->asked < 0 || s->asked >= tick + 1 || end <= tick)
            continue;
        const int is_read = s->read_from >= 0 && s->read_from < tick + 1 && s->read_to > tick;
        const double full = s->full >= 0 ? s->full : s->landed;
        add_cell(line, CELL, CLI_CELL("%c%zu", is_read ? 'r' : full > tick ? '<' : '=', i));
        return;
    }
    add_cell(line, CELL, ".");
}

static void put_line(const lab_pipeline *p, const char *label, int role, lab_pipe_mark_kind kind, char letter,
                     int first, int last, FILE *to)
{
    cells line = {.used = 0};
    add_cell(&line, INDENT + LABEL, CLI_CELL("  %.*s", LABEL - 1, label));
    for (int tick = first; tick < last; tick++) {
        int unit = 0;
        const int step = mark_at(p, role, kind, tick, &unit);
        add_cell(&line, CELL, step < 0 ? "." : kind == LAB_MARK_END ? "end" : CLI_CELL("%c%d", letter, step));
    }
    end_cells(&line, to);
}

static void put_ticks(const lab_pipeline *p, int first, int last, FILE *to)
{
    cells line = {.used = 0};
    add_cell(&line, INDENT + LABEL, "  tick");
    for (int tick = first; tick < last; tick++)
        add_cell(&line, CELL, CLI_CELL("%d", tick));
    end_cells(&line, to);
    for (size_t i = 0; i < p->role_count; i++)
        if (p->roles[i].asks)
            put_line(p, p->roles[i].kind == LAB_ROLE_PRODUCER ? "producer" : "warp 0 requests", (int)i, LAB_MARK_ASK,
                     '>', first, last, to);
    for (int stage = 0; stage < p->stages; stage++) {
        add_cell(&line, INDENT + LABEL, CLI_CELL("  stage %d", stage));
        for (int tick = first; tick < last; tick++)
            put_stage(p, stage, tick, &line);
        end_cells(&line, to);
    }
    for (size_t i = 0; i < p->role_count; i++) {
        char name[64];
        cli_pipeline_role(p, (int)i, name);
        if (p->roles[i].kind == LAB_ROLE_TRANSPOSER)
            put_line(p, "transposers", (int)i, LAB_MARK_TURN, 't', first, last, to);
        if (p->roles[i].kind != LAB_ROLE_CONSUMER)
            continue;
        name[strcspn(name, ",")] = '\0';
        put_line(p,
                 CLI_CELL("%s %s", name,
                          p->has_wgmma ? "wgmma"
                          : p->has_mma ? "mma"
                                       : "fma"),
                 (int)i, LAB_MARK_MULTIPLY, 'x', first, last, to);
        if (has_marks(p, (int)i, LAB_MARK_END)) /* threads that store sums themselves leave none */
            put_line(p, CLI_CELL("%s end", name), (int)i, LAB_MARK_END, 'e', first, last, to);
    }
}

static void put_time_line(const lab_pipeline *p, int all, FILE *to)
{
    const int ticks = (int)p->ticks + 1, room = (cli_columns() - INDENT - LABEL) / CELL;
    const int shown = all || ticks <= FEW_TICKS ? ticks : FEW_TICKS;
    fputs("\ntime line\n", to);
    for (int first = 0; first < shown; first += room) {
        if (first)
            fputc('\n', to);
        put_ticks(p, first, first + room < shown ? first + room : shown, to);
    }
    if (shown < ticks)
        say(to, "  and %d more ticks (--all)", ticks - shown);
    say(to,
        "  >4: step 4 is requested; <4 =4 r4: its stage is being filled, full, read; x4: it is multiplied; end: sums "
        "leave. Ticks say what waits for what, not how long it takes: a box is on its way for two ticks, a step of "
        "products takes two, each part of an end one.");
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static const char *tick_text(double tick, char out[16])
{
    snprintf(out, 16, tick < 0 ? "-" : "%.0f", tick);
    return out;
}
#define TICK(t) tick_text(t, (char[16]){0})

static const char *readers_text(int readers, char out[32])
{
    size_t used = 0;
    out[0] = '\0';
    for (int g = 0; g < 8; g++)
        if (readers >> g & 1)
            used += (size_t)snprintf(out + used, 32 - used, "%s%d", used ? "," : "", g);
    return out;
}

static int put_steps(const lab_pipeline *p, int all, FILE *to)
{
    cli_table table;
    const size_t shown = all || p->step_count <= FEW_STEPS + 2 ? p->step_count : FEW_STEPS;
    fputs("\nsteps: which rows of A, columns of B and part of K fill which stage, in ticks\n", to);
    cli_table_begin(&table, "rrlllrrrlr", "step", "stage", "rows", "columns", "K", "requested", "full", "read",
                    p->has_wgmma ? "by" : "", "empty");
    for (size_t i = 0; i < shown; i++) {
        const lab_pipe_step *s = &p->steps[i];
        cli_table_row(&table, CLI_CELL("%zu", i), CLI_CELL("%d", s->stage), RANGE(s->a.row0, s->a.row1),
                      RANGE(s->b.column0, s->b.column1), RANGE(s->b.row0, s->b.row1), TICK(s->asked), TICK(s->full),
                      s->read_from < 0 ? "-" : CLI_CELL("%.0f-%.0f", s->read_from, s->read_to),
                      p->has_wgmma ? readers_text(s->readers, (char[32]){0}) : "", TICK(s->free));
    }
    if (!cli_table_end(&table, to, INDENT))
        return 0;
    if (shown < p->step_count)
        say(to, "  and %zu more steps (--all)", p->step_count - shown);
    const lab_pipe_step *s = &p->steps[0];
    say(to,
        "The ring has %d stages; at most %d steps were requested and not given back. A step brings %" PRId64
        " bytes by %d boxes of this CTA%s. A phase of full counts %d arrival%s and the bytes, one of empty %d "
        "arrivals.",
        p->stages, p->most_in_flight, s->bytes, s->boxes,
        s->multicast ? cli_text((char[64]){0}, 64, ", %d of them sent to several", s->multicast) : "", p->full_arrivals,
        p->full_arrivals == 1 ? "" : "s", p->empty_arrivals);
    return 1;
}

static void put_batches(const lab_pipeline *p, FILE *to)
{
    if (!p->has_wgmma || p->batch_count == 0)
        return;
    const lab_pipe_batch *b = &p->batches[0];
    say(to,
        "Batches of wgmma: %d instructions of 64 x %d x %d for a step; at most %d %s of a group %s in flight. "
        "The first is issued at tick %.0f and waited for at %s.",
        b->products, p->wgmma_n, p->wgmma_k, p->most_batches, p->most_batches == 1 ? "batch" : "batches",
        p->most_batches == 1 ? "is" : "are", b->issued, TICK(b->waited));
}

/* ---- who makes what --------------------------------------------------------------------------------------------- */

static int is_cut(const lab_pipeline *p, const lab_pipe_unit *u)
{
    return u->multiply_adds > 0 && u->k_count < p->k;
}

/* "0..511", or "0..63 +128" where CTAs take steps of K in turns. */
static const char *along_k(const lab_pipe_unit *u, char out[48])
{
    const int64_t step = u->steps > 0 ? u->k_count / u->steps : 0;
    if (u->steps > 1 && u->k_stride > step)
        snprintf(out, 48, "%" PRId64 "..%" PRId64 " +%" PRId64, u->b.row0, u->b.row0 + step - 1, u->k_stride);
    else
        range_text(u->b.row0, u->b.row1, out);
    return out;
}

static int has_turns(const lab_pipeline *p)
{
    char text[48];
    for (size_t i = 0; i < p->unit_count; i++)
        if (strchr(along_k(&p->units[i], text), '+'))
            return 1;
    return 0;
}

static const char *amount_text(double bytes, char out[32])
{
    return bytes > 0 ? cli_bytes_text(out, bytes) : "-";
}
#define AMOUNT(bytes) amount_text(bytes, (char[32]){0})

static void put_unit(cli_table *table, const lab_pipe_unit *u)
{
    const int all_columns = u->d.column0 == u->b.column0 && u->d.column1 == u->b.column1;
    const int is_all = all_columns && u->d.row0 == u->a.row0 && u->d.row1 == u->a.row1;
    cli_table_row(table, CLI_CELL("%" PRId64, u->cta), RANGE(u->a.row0, u->a.row1), RANGE(u->b.column0, u->b.column1),
                  along_k(u, (char[48]){0}), CLI_CELL("%.0f", u->multiply_adds), AMOUNT(u->left_bytes),
                  u->counter >= 0 ? CLI_CELL("%d", u->counter + 1) : "-", AMOUNT(u->taken_bytes),
                  is_all                                  ? "the tile"
                  : all_columns && u->d.row1 >= u->d.row0 ? CLI_CELL("rows %s", RANGE(u->d.row0, u->d.row1))
                                                          : EXTENT('C', &u->d));
}

/* Those of the CTA that is followed, and those that have part of K, as far as there is room. */
static int put_units(const lab_pipeline *p, int all, FILE *to)
{
    cli_table table;
    size_t shown = 0, cut = 0;
    for (size_t i = 0; i < p->unit_count; i++)
        cut += is_cut(p, &p->units[i]) != 0;
    fputs("\nwho makes what: work units\n", to);
    cli_table_begin(&table, "rlllrrrrl", "CTA", "rows", "columns", "K", "products", "leaves", "count", "adds",
                    "stores");
    for (size_t i = 0; i < p->unit_count; i++) {
        const lab_pipe_unit *u = &p->units[i];
        const int is_own = u->cta == p->cta, is_few = shown < FEW_UNITS && (is_cut(p, u) || p->unit_count <= FEW_UNITS);
        if (!all && !is_own && !is_few)
            continue;
        put_unit(&table, u);
        shown++;
    }
    if (!cli_table_end(&table, to, INDENT))
        return 0;
    if (shown < p->unit_count)
        say(to, "  and %zu more units (--all): %zu of %zu have part of K, %zu all of it", p->unit_count - shown, cut,
            p->unit_count, p->unit_count - cut);
    const char *turns = has_turns(p) ? " \"0..63 +128\": 0..63 and as much from each 128 on." : "";
    if (p->reduces)
        say(to,
            "A unit leaves the sums of its part of K in the workspace; a second launch (kernels/prep/reduce.cu) "
            "adds the parts of each element and stores it.%s",
            turns);
    else if (cut > 0 && p->cluster_reads + p->sent_bytes == 0)
        say(to, "A unit with part of K leaves its sums in the workspace and counts; the one that counts last adds all "
                "parts of the tile and stores it. The emulator runs CTAs in their order; on a GPU another one may be "
                "last.");
    else if (cut > 0)
        say(to, "Units with part of K belong to a cluster: each CTA reduces its share of the tile and stores it.%s",
            turns);
    return 1;
}

/* ---- shared memory and fragments -------------------------------------------------------------------------------- */

/* Chunks of 16 bytes of the box's first rows, where they lie. */
static void put_box(const lab_pipeline *p, const lab_pipe_box *box, int all, FILE *to)
{
    const int span = box->swizzle_bytes ? box->swizzle_bytes : box->row_bytes;
    const int chunks = span / 16 < 8 ? span / 16 : 8, elems = 16 / p->elem_bytes;
    if (!box->operand || chunks < 2 || !box->swizzle_bytes)
        return;
    fprintf(to, "\nthe first box of %c in shared memory\n", box->operand);
    if (box->operand == 'B' && !all && p->box_a.swizzle_bytes == box->swizzle_bytes) {
        say(to,
            "  %" PRId64 " rows of %" PRId64 " elements as B is stored, from (%" PRId64 ",%" PRId64
            ") on, at byte %" PRId64 ", swizzled as that of A (--all shows it)",
            box->rows, box->columns, box->row, box->column, box->at);
        return;
    }
    say(to,
        "  %" PRId64 " rows of %" PRId64 " elements as %c is stored, from (%" PRId64 ",%" PRId64
        ") on, at byte %" PRId64 ", %d-byte swizzle: the chunk of 16 bytes number c of row r lies at place c XOR %s.",
        box->rows, box->columns, box->operand, box->row, box->column, box->at, box->swizzle_bytes,
        chunks == 8   ? "(r mod 8)"
        : chunks == 4 ? "(r / 2 mod 4)"
                      : "(r / 4 mod 2)");
    cells line = {.used = 0};
    add_cell(&line, 9, "  place");
    for (int place = 0; place < chunks; place++)
        add_cell(&line, 9, CLI_CELL("%d", place));
    end_cells(&line, to);
    for (int row = 0; row < 8 && row < box->rows; row++) {
        add_cell(&line, 9, CLI_CELL("  row %d", row));
        for (int place = 0; place < chunks; place++)
            for (int chunk = 0; chunk < chunks; chunk++)
                if (lab_box_chunk(box, row, chunk) == place)
                    add_cell(&line, 9,
                             CLI_CELL("%" PRId64 "..%" PRId64, box->column + chunk * elems,
                                      box->column + chunk * elems + elems - 1));
        end_cells(&line, to);
    }
    const int lies = lab_box_chunk(box, 3, 2);
    if (box->rows > 3 && chunks == 8)
        say(to,
            "  Row 3: elements %" PRId64 " to %" PRId64
            " are chunk 2; 2 XOR 3 = %d. The same chunk of eight rows lies at eight "
            "places, in all banks: it is read of eight rows together without a conflict.",
            box->column + 2 * elems, box->column + 3 * elems - 1, lies);
}

static void put_fragment(const lab_pipeline *p, FILE *to)
{
    int row, column;
    if (p->has_wgmma) {
        fputs("\nsums of wgmma: which thread of a warp group holds which of 64 x N elements\n", to);
        static const int threads[] = {0, 1, 2, 3, 4, 5, 31, 32, 127};
        cells line = {.used = 0};
        add_cell(&line, 10, "  thread");
        for (int i = 0; i < 5; i++)
            add_cell(&line, 10, CLI_CELL("sum[%d]", i));
        end_cells(&line, to);
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            add_cell(&line, 10, CLI_CELL("  %d", threads[t]));
            for (int i = 0; i < 5; i++) {
                lab_wgmma_place(threads[t], i, &row, &column);
                add_cell(&line, 10, CLI_CELL("(%d,%d)", row, column));
            }
            end_cells(&line, to);
        }
        say(to, "  Warp w has rows 16 w to 16 w + 15; each four more registers are eight columns on.");
    }
    if (p->has_mma && p->elem_bytes == 2) { /* those of f64 are another lesson's */
        fputs("\nfragments of mma.sync: lane 4 g + t\n", to);
        cli_table table;
        cli_table_begin(&table, "lllll", "lane", "a[0]", "a[1]", "b[0]", "sums");
        for (int lane = 0; lane < 32; lane += lane < 5 ? 1 : 13) {
            lab_mma_place a0 = lab_mma_place_of('A', lane, 0), a1 = lab_mma_place_of('A', lane, 1),
                          b0 = lab_mma_place_of('B', lane, 0), c0 = lab_mma_place_of('C', lane, 0),
                          c1 = lab_mma_place_of('C', lane, 2);
            cli_table_row(&table, CLI_CELL("%d", lane), CLI_CELL("(%d,%d..%d)", a0.row, a0.column, a0.column + 1),
                          CLI_CELL("(%d,%d..%d)", a1.row, a1.column, a1.column + 1),
                          CLI_CELL("(%d..%d,%d)", b0.row, b0.row + 1, b0.column),
                          CLI_CELL("(%d,%d..%d) (%d,%d..%d)", c0.row, c0.column, c0.column + 1, c1.row, c1.column,
                                   c1.column + 1));
        }
        cli_table_end(&table, to, INDENT);
    }
}

int cli_pipeline_text(const lab_pipeline *p, int all, FILE *to)
{
    put_head(p, to);
    if (!put_roles(p, to))
        return 0;
    if (p->stages) {
        put_time_line(p, all, to);
        if (!put_steps(p, all, to))
            return 0;
        put_batches(p, to);
    }
    if (!put_units(p, all, to))
        return 0;
    put_box(p, &p->box_a, all, to);
    put_box(p, &p->box_b, all, to);
    put_fragment(p, to);
    return 1;
}
