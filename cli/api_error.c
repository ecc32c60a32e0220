#include "cli/api_error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Where a name of the library stands for an option: members anywhere; plain words, which sentences use too, only at the
 * beginning or where " = " follows. */
typedef enum place { ANYWHERE, AS_NAME } place;

/* A member, and the option that stands for it where the command has that one. */
typedef struct name {
    const char *member;
    place place;
    const char *option;
    const char *shown; /* NULL: the option */
} name;

static const name names[] = {
    {"A.dtype", ANYWHERE, "--dtype", NULL},
    {"B.dtype", ANYWHERE, "--dtype-b", NULL},
    {"B.dtype", ANYWHERE, "--dtype", NULL},
    {"C.dtype", ANYWHERE, "--out-dtype", NULL},
    {"D.dtype", ANYWHERE, "--out-dtype", NULL},
    {"scale_mode_a", ANYWHERE, "--scale-a", NULL},
    {"scale_mode_a", ANYWHERE, "--scales", NULL},
    {"scale_mode_b", ANYWHERE, "--scale-b", NULL},
    {"scale_mode_b", ANYWHERE, "--scales", NULL},
    {"TSR_SCALE_TENSOR", ANYWHERE, "--scales", "--scales tensor"},
    {"scale_a", ANYWHERE, "--scale-a", NULL},
    {"scale_b", ANYWHERE, "--scale-b", NULL},
    {"A.align_bytes", ANYWHERE, "--align", NULL},
    {"B.align_bytes", ANYWHERE, "--align", NULL},
    {"C.align_bytes", ANYWHERE, "--align", NULL},
    {"D.align_bytes", ANYWHERE, "--align", NULL},
    {"TSR_SPARSE24_A, _B", ANYWHERE, "--sparse", "--sparse a or b"},
    {"TSR_SPARSE24_A", ANYWHERE, "--sparse", "--sparse a"},
    {"TSR_SPARSE24_B", ANYWHERE, "--sparse", "--sparse b"},
    {"TSR_BATCH_INVARIANT", ANYWHERE, "--batch-invariant", NULL},
    {"batch_count", AS_NAME, "--batch", NULL},
    {"kernel", AS_NAME, "--kernel", NULL},
    {"kernel", AS_NAME, "KERNEL", NULL},
    {"device", AS_NAME, "--device", NULL},
    {"compute", AS_NAME, "--compute", NULL},
    {"epilogue", AS_NAME, "--epilogue", NULL},
    {"alpha", AS_NAME, "--alpha", NULL},
    {"beta", AS_NAME, "--beta", NULL},
    {"threads", AS_NAME, "--threads", NULL},
};

static const cli_option *option_of(const cli_command *command, const char *option)
{
    for (const cli_option *o = command->options; o->name; o++)
        if (strcmp(o->name, option) == 0)
            return o;
    return NULL;
}

/* 1 if what is said of the member stands in a file that the option names. */
static int names_file(const cli_command *command, const name *found)
{
    const char *const value = option_of(command, found->option)->value;
    return value && strcmp(value, "FILE") == 0;
}

static int is_of_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_.-", c));
}

static int begins(const char *text, const char *what)
{
    return strncmp(text, what, strlen(what)) == 0;
}

/* What the text names at `at`, or NULL. */
static const name *find(const cli_command *command, const char *text, const char *at)
{
    if (at != text && is_of_word(at[-1]))
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *const after = at + strlen(names[i].member);
        if (!begins(at, names[i].member) || isalnum((unsigned char)*after) || *after == '_' ||
            !option_of(command, names[i].option))
            continue;
        /* "kernel wgmma has no prepared form" says what a kernel does; "kernel = ", "kernel \"" and "device emu: " are
         * of what was asked for. */
        const int is_asked =
            begins(after, " = ") ||
            (at == text && (begins(after, " \"") || begins(after, ": ") || strcmp(names[i].member, "device") == 0));
        if (names[i].place == ANYWHERE || is_asked)
            return &names[i];
    }
    return NULL;
}

const char *cli_name_options(const cli_command *command, const char *text, cli_message *out)
{
    size_t used = 0;
    const char *at = text;
    while (*at && used + 1 < sizeof out->text) {
        const name *const found = find(command, text, at);
        if (!found) {
            out->text[used++] = *at++;
            continue;
        }
        const int length =
            snprintf(out->text + used, sizeof out->text - used, "%s", found->shown ? found->shown : found->option);
        used += (size_t)length < sizeof out->text - used ? (size_t)length : sizeof out->text - used - 1;
        at += strlen(found->member);
        if (begins(at, " = ") && !names_file(command, found))
            at += strlen(" =");
    }
    out->text[used] = '\0';
    return out->text;
}

const char *cli_api_error(const cli_command *command, cli_message *out)
{
    return cli_name_options(command, tsr_last_error(), out);
}

int cli_api_failure(const cli_command *command)
{
    cli_message text;
    return cli_failure(command, "%s", cli_api_error(command, &text));
}
