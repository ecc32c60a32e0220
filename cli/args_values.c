/* The value parsers of cli/args.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"

int cli_parse_text(const cli_option *option, const char *text, void *to, cli_message *error)
{
    if (!*text)
        return cli_reject(error, "needs a value (%s), not ''", option->value ? option->value : option->name);
    *(const char **)to = text;
    return 1;
}

static int reject_int(const cli_option *option, const char *text, cli_message *error)
{
    if (option->max == INT64_MAX)
        return cli_reject(error, "needs a whole number of at least %" PRId64 ", not '%s'", option->min, text);
    return cli_reject(error, "needs a whole number from %" PRId64 " to %" PRId64 ", not '%s'", option->min, option->max,
                      text);
}

int cli_parse_int(const cli_option *option, const char *text, void *to, cli_message *error)
{
    char *end;
    int starts_well = (*text >= '0' && *text <= '9') || (*text == '-' && text[1] >= '0' && text[1] <= '9');
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (!starts_well || *end || errno || value < option->min || value > option->max)
        return reject_int(option, text, error);
    *(int64_t *)to = value;
    return 1;
}

int cli_parse_number(const cli_option *option, const char *text, void *to, cli_message *error)
{
    (void)option;
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || strchr(" \t\n\v\f\r", *text))
        return cli_reject(error, "needs a finite number, not '%s'", text);
    *(double *)to = value;
    return 1;
}

/* ---- choices --------------------------------------------------------------------------------------------------------
 */

/* "a|b|c" as "a, b, c". */
static void list_choices(const char *choices, char *out, size_t bytes)
{
    size_t used = 0;
    for (; *choices && used + 3 < bytes; choices++) {
        out[used++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|')
            out[used++] = ' ';
    }
    out[used] = 0;
}

static int choice_index(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (int index = 0;; index++) {
        size_t span = strcspn(choices, "|");
        if (span == length && strncmp(choices, text, length) == 0)
            return index;
        if (!choices[span])
            return -1;
        choices += span + 1;
    }
}

int cli_parse_choice(const cli_option *option, const char *text, void *to, cli_message *error)
{
    int index = choice_index(option->value, text);
    if (index < 0) {
        char names[256];
        list_choices(option->value, names, sizeof names);
        return cli_reject(error, "needs one of %s, not '%s'", names, text);
    }
    *(int *)to = index;
    return 1;
}

/* ---- dtypes, layouts, kernels
 * ---------------------------------------------------------------------------------------- */

int cli_parse_dtype(const cli_option *option, const char *text, void *to, cli_message *error)
{
    (void)option;
    char names[256] = "";
    for (int dtype = TSR_DTYPE_NONE + 1; dtype < TSR_DTYPE_COUNT; dtype++) {
        const char *name = tsr_dtype_name((tsr_dtype)dtype);
        if (strcmp(name, text) == 0) {
            *(tsr_dtype *)to = (tsr_dtype)dtype;
            return 1;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    return cli_reject(error, "needs one of %s, not '%s'", names, text);
}

int cli_parse_compute(const cli_option *option, const char *text, void *to, cli_message *error)
{
    static const tsr_compute known[] = {TSR_COMPUTE_DEFAULT, TSR_COMPUTE_TF32, TSR_COMPUTE_FAST};
    (void)option;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(tsr_compute_name(known[i]), text) == 0) {
            *(tsr_compute *)to = known[i];
            return 1;
        }
    return cli_reject(error, "needs one of default, tf32, fast, not '%s'", text);
}

int cli_parse_layout(const cli_option *option, const char *text, void *to, cli_message *error)
{
    (void)option;
    if (strlen(text) != 2 || strspn(text, "nt") != 2)
        return cli_reject(error, "needs one of nn, nt, tn, tt (A, B transposed or not), not '%s'", text);
    cli_layout layout = {text[0] == 't' ? TSR_T : TSR_N, text[1] == 't' ? TSR_T : TSR_N};
    *(cli_layout *)to = layout;
    return 1;
}

int cli_parse_device(const cli_option *option, const char *text, void *to, cli_message *error)
{
    (void)option;
    static const char *const names[] = {"auto", "cpu", "emu"};
    const char *ordinal = strncmp(text, "cuda:", 5) == 0 ? text + 5 : "";
    int good = *ordinal && strlen(ordinal) <= 3 && strspn(ordinal, "0123456789") == strlen(ordinal);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        good |= strcmp(text, names[i]) == 0;
    if (!good)
        return cli_reject(error, "needs one of auto, cpu, emu, cuda:N, not '%s'", text);
    *(const char **)to = text;
    return 1;
}

int cli_default_device(const cli_command *command, const char **device)
{
    const char *asked = getenv("TESSERA_DEVICE");
    cli_message wrong;
    if (*device)
        return CLI_CONTINUE;
    *device = "auto";
    if (!asked || !*asked || cli_parse_device(NULL, asked, device, &wrong))
        return CLI_CONTINUE;
    return cli_usage_error(command, "TESSERA_DEVICE %s", wrong.text);
}

/* Names of kernels, each once, of so many configs: completions and spelling ask for them thousands of times. */
enum { KERNEL_NAMES_MAX = 64 };
static struct {
    size_t configs, count;
    const char *names[KERNEL_NAMES_MAX];
} known;

static void find_kernel_names(void)
{
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    known.count = 0;
    for (known.configs = 0; tsr_kernel(known.configs, &info) == TSR_OK; known.configs++) {
        size_t i = 0;
        while (i < known.count && strcmp(known.names[i], info.name) != 0)
            i++;
        if (i == known.count && known.count < KERNEL_NAMES_MAX)
            known.names[known.count++] = info.name;
    }
}

const char *cli_kernel_name(size_t index)
{
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    if (known.configs == 0 || tsr_kernel(known.configs, &info) == TSR_OK) /* `try FILE.cu` adds one */
        find_kernel_names();
    return index < known.count ? known.names[index] : NULL;
}

static const char *nth_kernel_name(size_t index, const void *user)
{
    (void)user;
    return cli_kernel_name(index);
}

static int check_kernel(const char *text, const char *besides, cli_message *error)
{
    tsr_kernel_info info = {.struct_bytes = sizeof info};
    for (size_t i = 0; tsr_kernel(i, &info) == TSR_OK; i++)
        if (strcmp(info.name, text) == 0 || strcmp(info.instance, text) == 0)
            return 1;
    size_t names = 0;
    while (cli_kernel_name(names))
        names++;
    const char *nearest = cli_nearest(text, names, nth_kernel_name, NULL);
    if (nearest)
        return cli_reject(error, "needs the name of a kernel%s, not '%s'; did you mean %s?", besides, text, nearest);
    return cli_reject(error, "needs the name of a kernel%s, not '%s'; tessera info --kernels lists them", besides,
                      text);
}

/* The same where a schedule may stand behind an @. The library says which are legal, as it depends on the problem. */
static int check_kernel_schedule(const char *text, const char *besides, cli_message *error)
{
    char bare[CLI_NAME_MAX];
    const size_t length = strcspn(text, "@");
    if (text[length] == '\0' || length >= sizeof bare)
        return check_kernel(text, besides, error);
    memcpy(bare, text, length);
    bare[length] = '\0';
    return check_kernel(bare, besides, error);
}

int cli_parse_kernel(const cli_option *option, const char *text, void *to, cli_message *error)
{
    (void)option;
    if (!check_kernel_schedule(text, "", error))
        return 0;
    *(const char **)to = text;
    return 1;
}

/* ---- comma lists
 * ----------------------------------------------------------------------------------------------------- */

/* Copies the item at *rest and moves past its comma; *rest is NULL after the last. 0 and a message if the item cannot
 * be taken as the count-th of a list. */
static int next_item(const char **rest, size_t count, char item[CLI_NAME_MAX], cli_message *error)
{
    size_t length = strcspn(*rest, ",");
    item[0] = 0;
    if (!length)
        return cli_reject(error, "needs a list without empty items, such as a,b");
    if (count >= CLI_LIST_MAX)
        return cli_reject(error, "takes at most %d values", CLI_LIST_MAX);
    if (length >= CLI_NAME_MAX)
        return cli_reject(error, "has an item of more than %d characters: '%.*s...'", CLI_NAME_MAX - 1, 20, *rest);
    memcpy(item, *rest, length);
    item[length] = 0;
    *rest = (*rest)[length] ? *rest + length + 1 : NULL;
    return 1;
}

int cli_parse_ints(const cli_option *option, const char *text, void *to, cli_message *error)
{
    cli_int_list list = {0};
    char item[CLI_NAME_MAX];
    for (const char *rest = text; rest; list.count++)
        if (!next_item(&rest, list.count, item, error) || !cli_parse_int(option, item, &list.values[list.count], error))
            return 0;
    *(cli_int_list *)to = list;
    return 1;
}

int cli_parse_dtypes(const cli_option *option, const char *text, void *to, cli_message *error)
{
    cli_dtype_list list = {0};
    char item[CLI_NAME_MAX];
    for (const char *rest = text; rest; list.count++)
        if (!next_item(&rest, list.count, item, error) ||
            !cli_parse_dtype(option, item, &list.values[list.count], error))
            return 0;
    *(cli_dtype_list *)to = list;
    return 1;
}

int cli_parse_layouts(const cli_option *option, const char *text, void *to, cli_message *error)
{
    cli_layout_list list = {0};
    char item[CLI_NAME_MAX];
    for (const char *rest = text; rest; list.count++)
        if (!next_item(&rest, list.count, item, error) ||
            !cli_parse_layout(option, item, &list.values[list.count], error))
            return 0;
    *(cli_layout_list *)to = list;
    return 1;
}

int cli_parse_choices(const cli_option *option, const char *text, void *to, cli_message *error)
{
    unsigned bits = 0;
    size_t count = 0;
    char item[CLI_NAME_MAX];
    for (const char *rest = text; rest; count++) {
        int index;
        if (!next_item(&rest, count, item, error) || !cli_parse_choice(option, item, &index, error))
            return 0;
        bits |= 1u << index;
    }
    *(unsigned *)to = bits;
    return 1;
}

int cli_parse_kernels_or_all(const cli_option *option, const char *text, void *to, cli_message *error)
{
    (void)option;
    char item[CLI_NAME_MAX];
    const char *rest = strcmp(text, "all") == 0 ? NULL : text;
    for (size_t count = 0; rest; count++)
        if (!next_item(&rest, count, item, error) || !check_kernel(item, " or all", error))
            return 0;
    *(const char **)to = text;
    return 1;
}

typedef int name_check(const char *text, const char *besides, cli_message *error);

static int parse_kernels(const char *text, name_check *check, cli_name_list *list, cli_message *error)
{
    const int alone = strcmp(text, "all") == 0 || strcmp(text, "auto") == 0;
    list->count = 0;
    for (const char *rest = text; rest; list->count++) {
        char *item = list->values[list->count < CLI_LIST_MAX ? list->count : 0];
        if (!next_item(&rest, list->count, item, error))
            return 0;
        /* "wgmma_skinny@cluster-k=2,swap-ab=1" is one item: no kernel has an = in its name. */
        while (strchr(item, '@') && rest && rest[strcspn(rest, "=@,")] == '=') {
            char more[CLI_NAME_MAX];
            const size_t used = strlen(item);
            if (!next_item(&rest, list->count, more, error))
                return 0;
            const size_t length = strlen(more);
            if (used + 1 + length >= CLI_NAME_MAX)
                return cli_reject(error, "has an item of more than %d characters: '%.20s...'", CLI_NAME_MAX - 1, item);
            item[used] = ',';
            memcpy(item + used + 1, more, length + 1);
        }
        if (!alone && !check(item, ", all or auto", error))
            return 0;
    }
    return 1;
}

int cli_parse_kernels(const cli_option *option, const char *text, void *to, cli_message *error)
{
    (void)option;
    return parse_kernels(text, check_kernel, to, error);
}

/* "auto" may stand beside kernels that are to be compared with it. */
static int check_kernel_schedule_or_auto(const char *text, const char *besides, cli_message *error)
{
    return strcmp(text, "auto") == 0 || check_kernel_schedule(text, besides, error);
}

int cli_parse_kernel_schedules(const cli_option *option, const char *text, void *to, cli_message *error)
{
    (void)option;
    return parse_kernels(text, check_kernel_schedule_or_auto, to, error);
}
