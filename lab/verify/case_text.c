#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "lab/verify/cases.h"

typedef struct text {
    char *out;
    size_t bytes, used;
} text;

static void say(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int added = vsnprintf(t->out + t->used, t->bytes - t->used, format, list);
    va_end(list);
    if (added > 0)
        t->used += (size_t)added < t->bytes - t->used ? (size_t)added : t->bytes - t->used - 1;
}

static void say_four(text *t, const char *what, const int64_t values[4])
{
    if (values[0] != 0 || values[1] != 0 || values[2] != 0 || values[3] != 0)
        say(t, " %s+%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, what, values[0], values[1], values[2], values[3]);
}

void lab_case_text(const lab_case *c, char *out, size_t out_bytes)
{
    static const char *const modes[] = {" C=D", "", " ldc!=ldd"};
    static const char *const batches[] = {"", "", " gaps", " same A", " same B,C", " interleaved"};
    static const char *const data[] = {"", " integers", " NaN,Inf", " NaN", " zeros"};
    static const char *const memories[] = {"", " host", " mixed memory"};
    static const char *const forms[] = {"", " bias", " relu(bias)"};
    static const char *const zeros[] = {"", " zero points A", " zero points B", " zero points A,B"};
    static const char *const scales[] = {"none", "tensor", "vector", "1x128", "128x128"};
    static const char *const prepared[] = {"", " prepared A", " prepared B", " prepared A,B"};
    text t = {out, out_bytes, 0};
    out[0] = '\0';
    if (c->dtype_a != TSR_DTYPE_NONE)
        say(&t, "%s x %s -> %s ", tsr_dtype_name(c->dtype_a), tsr_dtype_name(c->dtype_b), tsr_dtype_name(c->dtype_d));
    say(&t, "%c%c %" PRId64 "x%" PRId64 "x%" PRId64 " alpha %g beta %g", c->trans_a ? 't' : 'n', c->trans_b ? 't' : 'n',
        c->m, c->n, c->k, c->alpha, c->beta);
    if (c->batch != 1)
        say(&t, " batch %" PRId64 "%s", c->batch, batches[c->batch_mode]);
    say_four(&t, "ld", c->pad);
    say_four(&t, "offset", c->offset);
    say(&t, "%s%s%s%s%s", modes[c->c_mode], data[c->fill], memories[c->memory], prepared[c->prepared],
        forms[c->epilogue]);
    if (c->scale_a || c->scale_b)
        say(&t, " scales %s,%s", scales[c->scale_a], scales[c->scale_b]);
    say(&t, "%s", zeros[c->zeros]);
    say(&t, "%s%s", c->scale_d ? " scale D,amax" : "", c->overflows ? " special" : "");
    if (c->declare_align)
        say(&t, " aligned");
    if (c->null_unread)
        say(&t, " NULL");
    if (c->schedule[0] != '\0')
        say(&t, " @%s", c->schedule);
    if (c->threads != 0)
        say(&t, " threads %d", c->threads);
    say(&t, " seed %" PRIu64, c->seed);
}
