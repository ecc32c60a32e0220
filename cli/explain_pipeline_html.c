/* A pipeline as an HTML page: cli/explain_pipeline_page.html with the pipeline's data in it, as JSON that the page's
 * script plays. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/explain_pipeline.h"
#include "lab/bench/report.h"

/* In cli/explain_page.S. */
extern const char cli_explain_pipeline_page[];

enum { BOX_ROWS = 16, FRAGMENT_COLUMNS = 64, MOST_UNITS = 2000 };

static void put_text(const char *name, const char *value, FILE *to)
{
    fprintf(to, "\"%s\":", name);
    lab_json_string(to, value);
    fputc(',', to);
}

static void put_extent(const lab_pipe_extent *e, FILE *to)
{
    if (e->row1 < e->row0)
        fputs("null", to);
    else
        fprintf(to, "[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]", e->row0, e->row1, e->column0, e->column1);
}

static void put_roles(const lab_pipeline *p, FILE *to)
{
    fputs("\"roles\":[", to);
    for (size_t i = 0; i < p->role_count; i++) {
        char name[64];
        fprintf(to, "%s{\"kind\":%d,\"requests\":%d,\"registers\":%d,\"name\":", i ? "," : "", (int)p->roles[i].kind,
                p->roles[i].asks, p->roles[i].registers);
        lab_json_string(to, cli_pipeline_role(p, (int)i, name));
        fputc('}', to);
    }
    fputs("],\n", to);
}

static void put_steps(const lab_pipeline *p, FILE *to)
{
    fputs("\"steps\":[", to);
    for (size_t i = 0; i < p->step_count && p->stages; i++) {
        const lab_pipe_step *s = &p->steps[i];
        fprintf(to, "%s[%d,%d,%d,%g,%g,%g,%g,%g,%g,%d,", i ? ",\n" : "", s->stage, s->turn, s->unit, s->asked,
                s->landed, s->full, s->read_from, s->read_to, s->free, s->full_phase);
        put_extent(&s->a, to);
        fputc(',', to);
        put_extent(&s->b, to);
        fprintf(to, ",%" PRId64 ",%d]", s->bytes, s->readers);
    }
    fputs("],\n\"marks\":[", to);
    for (size_t i = 0; i < p->mark_count; i++) {
        const lab_pipe_mark *m = &p->marks[i];
        fprintf(to, "%s[%d,%d,%d,%d,%g,%g]", i ? "," : "", (int)m->kind, m->role, m->step, m->unit, m->from, m->to);
    }
    fputs("],\n\"batches\":[", to);
    for (size_t i = 0; i < p->batch_count; i++) {
        const lab_pipe_batch *b = &p->batches[i];
        fprintf(to, "%s[%d,%d,%d,%g,%g,%g]", i ? "," : "", b->role, b->step, b->products, b->issued, b->done,
                b->waited);
    }
    fputs("],\n", to);
}

static void put_units(const lab_pipeline *p, FILE *to)
{
    fputs("\"units\":[", to);
    for (size_t i = 0; i < p->unit_count && i < MOST_UNITS; i++) {
        const lab_pipe_unit *u = &p->units[i];
        fprintf(to, "%s[%" PRId64 ",", i ? ",\n" : "", u->cta);
        put_extent(&u->a, to);
        fputc(',', to);
        put_extent(&u->b, to);
        fputc(',', to);
        put_extent(&u->d, to);
        fprintf(to, ",%d,%.0f,%.0f,%.0f,%d,%" PRId64 ",%" PRId64 "]", u->steps, u->multiply_adds, u->left_bytes,
                u->taken_bytes, u->counter, u->k_count, u->k_stride);
    }
    fputs("],\n", to);
}

/* Each place of the box's first rows: the chunk that lies there. */
static void put_box(const lab_pipeline *p, const lab_pipe_box *box, const char *name, FILE *to)
{
    const int span = box->swizzle_bytes ? box->swizzle_bytes : box->row_bytes, chunks = span / 16 < 8 ? span / 16 : 8;
    if (!box->operand || chunks < 1 || !p->stages) {
        fprintf(to, "\"%s\":null,\n", name);
        return;
    }
    fprintf(to,
            "\"%s\":{\"row\":%" PRId64 ",\"column\":%" PRId64 ",\"rows\":%" PRId64 ",\"columns\":%" PRId64
            ",\"at\":%" PRId64 ",\"swizzle\":%d,\"chunks\":%d,\"lies\":[",
            name, box->row, box->column, box->rows, box->columns, box->at, box->swizzle_bytes, chunks);
    for (int row = 0; row < BOX_ROWS && row < box->rows; row++) {
        fputs(row ? ",[" : "[", to);
        for (int chunk = 0; chunk < chunks; chunk++)
            fprintf(to, "%s%d", chunk ? "," : "", lab_box_chunk(box, row, chunk));
        fputc(']', to);
    }
    fputs("]},\n", to);
}

static void begin_fragment(const char *name, int rows, int columns, int threads, FILE *to)
{
    fprintf(to, "{\"name\":\"%s\",\"rows\":%d,\"columns\":%d,\"threads\":%d,\"places\":[", name, rows, columns,
            threads);
}

/* Of each thread, of each element that it holds: row * columns + column. */
static void put_fragments(const lab_pipeline *p, FILE *to)
{
    fputs("\"fragments\":[", to);
    if (p->has_wgmma) {
        const int columns = p->wgmma_n < FRAGMENT_COLUMNS ? p->wgmma_n : FRAGMENT_COLUMNS;
        begin_fragment("sums of wgmma", 64, columns, 128, to);
        for (int thread = 0; thread < 128; thread++)
            for (int i = 0; i < columns / 2; i++) {
                int row, column;
                lab_wgmma_place(thread, i, &row, &column);
                fprintf(to, "%s%d", thread || i ? "," : "", row * columns + column);
            }
        fputs("]}", to);
    }
    for (int operand = 0; operand < 3 && p->has_mma && p->elem_bytes == 2; operand++) {
        static const char names[] = "ABC", *const titles[] = {"A of mma.sync", "B of mma.sync", "sums of mma.sync"};
        const int elements = operand == 0 ? 8 : 4, columns = operand == 0 ? 16 : 8;
        fputs(operand ? "," : "", to);
        begin_fragment(titles[operand], 16, columns, 32, to);
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < elements; i++) {
                lab_mma_place place = lab_mma_place_of(names[operand], lane, operand == 2 ? i : i / 2);
                place.column += operand == 0 ? i % 2 : 0;
                place.row += operand == 1 ? i % 2 : 0;
                fprintf(to, "%s%d", lane || i ? "," : "", place.row * columns + place.column);
            }
        fputs("]}", to);
    }
    fputs("]", to);
}

static void put_data(const lab_pipeline *p, FILE *to)
{
    char types[LAB_TYPES_TEXT];
    fputc('{', to);
    put_text("instance", p->instance, to);
    put_text("summary", p->summary, to);
    put_text("source", p->source, to);
    put_text("schedule", p->schedule, to);
    put_text("dtype", lab_types_pair(&p->types, types), to);
    fprintf(to,
            "\"m\":%" PRId64 ",\"n\":%" PRId64 ",\"k\":%" PRId64 ",\"bm\":%d,\"bn\":%d,\"threads\":%d,\"smem\":%d,"
            "\"elemBytes\":%d,\"cluster\":%d,\"ctas\":%" PRId64 ",\"cta\":%" PRId64
            ",\"stages\":%d,\"ticks\":%g,\"wgmma\":%d,\"mma\":%d,"
            "\"fullArrivals\":%d,\"emptyArrivals\":%d,\"reduces\":%d,\n",
            p->m, p->n, p->k, p->bm, p->bn, p->threads, p->smem_bytes, p->elem_bytes, p->cluster, p->ctas, p->cta,
            p->stages, p->ticks, p->has_wgmma, p->has_mma, p->full_arrivals, p->empty_arrivals, p->reduces);
    put_roles(p, to);
    put_steps(p, to);
    put_units(p, to);
    put_box(p, &p->box_a, "boxA", to);
    put_box(p, &p->box_b, "boxB", to);
    put_fragments(p, to);
    fputc('}', to);
}

int cli_pipeline_html(const lab_pipeline *p, FILE *to)
{
    static const char data_mark[] = "@DATA@", title_mark[] = "@TITLE@";
    const char *title = strstr(cli_explain_pipeline_page, title_mark);
    const char *data = strstr(cli_explain_pipeline_page, data_mark);
    fwrite(cli_explain_pipeline_page, 1, (size_t)(title - cli_explain_pipeline_page), to);
    fprintf(to, "%s: CTA %" PRId64 " of %" PRId64 " x %" PRId64 " x %" PRId64, p->instance, p->cta, p->m, p->n, p->k);
    title += strlen(title_mark);
    fwrite(title, 1, (size_t)(data - title), to);
    put_data(p, to);
    fputs(data + strlen(data_mark), to);
    return 1;
}
