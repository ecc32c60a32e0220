/* make_pages FOLDER: man pages of the command and its completions for bash, zsh and fish, from the tables that parsing
 * and
 * --help come from. The build runs it; it writes FOLDER/tessera.1, FOLDER/tessera-NAME.1, FOLDER/tessera.bash,
 * FOLDER/_tessera and FOLDER/tessera.fish. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "lab/common/gpus.h"
#include "lab/explain/exercises.h"
#include "tessera.h"

/* ---- what the tables say ---------------------------------------------------------------------------------------- */

enum { WORDS_MAX = 160 };

/* The values that an option or argument takes by name. */
typedef struct words {
    size_t count;
    char text[WORDS_MAX][CLI_NAME_MAX];
} words;

static int is_positional(const cli_option *option)
{
    return option->name[0] != '-';
}

/* Adds a word if the option's own parser takes it. */
static void try_word(const cli_option *option, const char *text, size_t length, words *out)
{
    /* A parser may write to fields before its own, as that of an answer does. */
    static struct {
        char before[512];
        cli_name_list value; /* the largest of them */
    } destination;
    char word[CLI_NAME_MAX];
    cli_message wrong;
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    if (out->count == WORDS_MAX || !option->parse(option, word, &destination.value, &wrong))
        return;
    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->text[i], word) == 0)
            return;
    memcpy(out->text[out->count++], word, sizeof word);
}

/* Free text has no words of its own; neither has a flag. */
static words words_of(const cli_option *option)
{
    static const char *const common[] = {"auto", "cpu", "emu", "cuda:0", "all", "nn", "nt", "tn", "tt"};
    words out = {.count = 0};
    if (!option->parse || option->parse == cli_parse_text)
        return out;
    for (const char *at = option->value; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        try_word(option, at, strcspn(at, "|"), &out);
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        try_word(option, common[i], strlen(common[i]), &out);
    for (int dtype = TSR_DTYPE_NONE + 1; dtype < TSR_DTYPE_COUNT; dtype++)
        try_word(option, tsr_dtype_name((tsr_dtype)dtype), strlen(tsr_dtype_name((tsr_dtype)dtype)), &out);
    for (size_t i = 0; lab_gpu_spec_at(i) != NULL; i++)
        try_word(option, lab_gpu_spec_at(i)->id, strlen(lab_gpu_spec_at(i)->id), &out);
    for (size_t i = 0; cli_kernel_name(i) != NULL; i++)
        try_word(option, cli_kernel_name(i), strlen(cli_kernel_name(i)), &out);
    for (size_t i = 0; lab_exercise_at(i) != NULL; i++)
        try_word(option, lab_exercise_at(i)->name, strlen(lab_exercise_at(i)->name), &out);
    return out;
}

/* Names of the files that an option or argument takes: "*" for all; NULL: it takes none. */
static const char *files_of(const cli_option *option)
{
    return option->files ? option->files : option->parse == cli_parse_text ? "*" : NULL;
}

static void print_words(FILE *to, const words *list)
{
    for (size_t i = 0; i < list->count; i++)
        fprintf(to, "%s%s", i ? " " : "", list->text[i]);
}

static FILE *create(const char *folder, const char *format, const char *name)
{
    char path[4096];
    const int used = snprintf(path, sizeof path, "%s/", folder);
    snprintf(path + used, sizeof path - (size_t)used, format, name);
    FILE *to = fopen(path, "w");
    if (!to) {
        perror(path);
        exit(1);
    }
    return to;
}

static void close_file(FILE *to)
{
    if (ferror(to) + fclose(to) != 0) {
        fprintf(stderr, "make_pages: cannot write\n");
        exit(1);
    }
}

/* ---- man pages -------------------------------------------------------------------------------------------------- */

/* Text as troff takes it: no escapes, no request at the beginning of a line, hyphens that can be copied. */
static void troff(FILE *to, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", to);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '-')
            fputs("\\-", to);
        else if (*text == '\n')
            fputs("\n.br\n", to);
        else
            fputc(*text, to);
    }
}

static void title(FILE *to, const char *name)
{
    fputs(".TH ", to);
    for (; *name; name++)
        fputc(toupper((unsigned char)*name), to);
    fprintf(to, " 1 \"\" \"tessera %s\" \"Tessera\"\n.SH NAME\n", tsr_version());
}

/* The command's arguments, or its options. */
static void man_options(FILE *to, const cli_command *command, int positional)
{
    for (const cli_option *option = command->options; option->name; option++) {
        if (is_positional(option) != positional)
            continue;
        fputs(".TP\n\\fB", to);
        if (option->letter)
            fprintf(to, "\\-%c\\fR, \\fB", option->letter);
        troff(to, option->name);
        fputs("\\fR", to);
        if (option->value) {
            fputs(" \\fI", to);
            troff(to, option->value);
            fputs("\\fR", to);
        }
        fputc('\n', to);
        troff(to, option->help);
        fputc('\n', to);
    }
}

static int has_positional(const cli_command *command)
{
    int has = 0;
    for (const cli_option *option = command->options; option->name; option++)
        has |= is_positional(option);
    return has;
}

static void man_end(FILE *to)
{
    fputs(".SH EXIT STATUS\n0 success, 1 the work failed, 2 the arguments are wrong.\n.SH ENVIRONMENT\n"
          ".TP\n\\fBTESSERA_DEVICE\\fR\nwhere products run if nothing else is said: auto, cpu, cuda:N or emu\n"
          ".TP\n\\fBTESSERA_NUM_THREADS\\fR\nCPU threads of a product\n",
          to);
}

static void man_of_command(const char *folder, const cli_command *command)
{
    char name[64];
    snprintf(name, sizeof name, "tessera-%s", command->name);
    FILE *to = create(folder, "%s.1", name);
    title(to, name);
    troff(to, name);
    fputs(" \\- ", to);
    troff(to, command->summary);
    fprintf(to, "\n.SH SYNOPSIS\n\\fBtessera %s\\fR ", command->name);
    troff(to, command->usage);
    fputc('\n', to);
    if (command->notes) {
        fputs(".SH DESCRIPTION\n", to);
        troff(to, command->notes);
        fputc('\n', to);
    }
    if (has_positional(command)) {
        fputs(".SH ARGUMENTS\n", to);
        man_options(to, command, 1);
    }
    fputs(".SH OPTIONS\n", to);
    man_options(to, command, 0);
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint these options\n", to);
    man_end(to);
    fputs(".SH SEE ALSO\n.BR tessera (1)\n", to);
    close_file(to);
}

static void man_overview(const char *folder)
{
    FILE *to = create(folder, "%s.1", "tessera");
    title(to, "tessera");
    fputs(
        "tessera \\- tiled matrix multiplication\n.SH SYNOPSIS\n\\fBtessera\\fR \\fICOMMAND\\fR [arguments]\n.br\n"
        "\\fBtessera help\\fR \\fICOMMAND\\fR\n.br\n\\fBtessera \\-\\-version\\fR\n.SH DESCRIPTION\n"
        "Multiplies matrices on CPUs and NVIDIA GPUs, and shows how: which kernel a problem gets, how fast it is, what "
        "it does step by step.\n.SH COMMANDS\n",
        to);
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(to, ".TP\n\\fB%s\\fR\n", cli_commands[i]->name);
        troff(to, cli_commands[i]->summary);
        fprintf(to, "; see\n.BR tessera\\-%s (1)\n", cli_commands[i]->name);
    }
    man_end(to);
    fputs(".SH SEE ALSO\n", to);
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(to, ".BR tessera\\-%s (1)%s\n", cli_commands[i]->name, cli_commands[i + 1] ? "," : "");
    close_file(to);
}

/* ---- bash ---- */

static void bash_values(FILE *to, const cli_command *command)
{
    for (const cli_option *option = command->options; option->name; option++) {
        const words list = words_of(option);
        if (is_positional(option) || !option->value)
            continue;
        fprintf(to, "    '%s %s'", command->name, option->name);
        if (option->letter)
            fprintf(to, " | '%s -%c'", command->name, option->letter);
        fputs(") values=1 ", to);
        if (list.count) {
            if (strstr(option->value, "[,")) /* several, with commas between them */
                fputs("list=1 ", to);
            fputs("words='", to);
            print_words(to, &list);
            fputc('\'', to);
        } else if (files_of(option)) {
            fprintf(to, "files='%s'", files_of(option));
        }
        fputs(" ;;\n", to);
    }
}

static void bash_arguments(FILE *to, const cli_command *command)
{
    fprintf(to, "    %s)\n        options='", command->name);
    for (const cli_option *option = command->options; option->name; option++)
        if (!is_positional(option))
            fprintf(to, "%s ", option->name);
    fputs("--help'\n", to);
    for (const cli_option *option = command->options; option->name; option++) {
        const words list = words_of(option);
        if (!is_positional(option))
            continue;
        if (files_of(option))
            fprintf(to, "        files='%s'\n", files_of(option));
        if (list.count) {
            fputs("        words='", to);
            print_words(to, &list);
            fputs("'\n", to);
        }
    }
    fputs("        ;;\n", to);
}

static void print_command_names(FILE *to)
{
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(to, "%s ", cli_commands[i]->name);
    fputs("help", to);
}

static void bash(const char *folder)
{
    FILE *to = create(folder, "%s", "tessera.bash");
    fputs(
        "# bash completion of tessera\n_tessera() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}\n"
        "    local words= options= files= values= list= before= name\n"
        "    COMPREPLY=()\n"
        "    # --option=value arrives as three words\n"
        "    if [ \"$previous\" = = ]; then\n        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "    elif [ \"$current\" = = ]; then\n        current=\n    fi\n"
        "    if [ \"$COMP_CWORD\" = 1 ] || { [ \"$command\" = help ] && [ \"$COMP_CWORD\" = 2 ]; }; then\n"
        "        COMPREPLY=($(compgen -W '",
        to);
    print_command_names(to);
    fputs(" --help --version' -- \"$current\"))\n        return\n    fi\n    case \"$command $previous\" in\n", to);
    for (size_t i = 0; cli_commands[i]; i++)
        bash_values(to, cli_commands[i]);
    fputs("    esac\n    [ -n \"$values\" ] || case $command in\n", to);
    for (size_t i = 0; cli_commands[i]; i++)
        bash_arguments(to, cli_commands[i]);
    fputs("    esac\n    case $current in\n    -*) words=$options files= ;;\n"
          "    *,*) [ -z \"$list\" ] || before=${current%,*}, ;;\n    esac\n"
          "    COMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- \"${current#\"$before\"}\"))\n"
          "    if [ -n \"$files\" ]; then\n        compopt -o filenames 2>/dev/null\n"
          "        # a name a line, blanks and all; folders may lead to files of the pattern\n"
          "        while IFS= read -r name; do\n            COMPREPLY+=(\"$name\")\n"
          "        done < <(compgen -f -X \"!$files\" -- \"$current\"; [ \"$files\" = '*' ] || compgen -d -- "
          "\"$current\")\n"
          "    fi\n}\ncomplete -F _tessera tessera\n",
          to);
    close_file(to);
}

/* ---- zsh ---- */

/* Help inside [...] of a specification in single quotes. */
static void zsh_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            fprintf(to, "\\%c", *text);
        else if (*text == '\'')
            fputs("'\\''", to);
        else
            fputc(*text, to);
    }
}

static void zsh_words(FILE *to, const words *list)
{
    fputc('(', to);
    for (size_t i = 0; i < list->count; i++) {
        fputs(i ? " " : "", to);
        for (const char *at = list->text[i]; *at; at++)
            fprintf(to, *at == ':' ? "\\%c" : "%c", *at);
    }
    fputc(')', to);
}

static void zsh_action(FILE *to, const cli_option *option)
{
    const words list = words_of(option);
    const char *const files = files_of(option);
    if (list.count && files) { /* in braces _arguments adds no words of its own */
        fputs("{_alternative \"words\\:word\\:", to);
        zsh_words(to, &list);
        fprintf(to, "\" \"files\\:file\\:_files -g \\\"%s\\\"\"}", files);
    } else if (list.count) {
        zsh_words(to, &list);
    } else if (files) {
        fputs("_files", to);
        if (strcmp(files, "*") != 0)
            fprintf(to, " -g \"%s\"", files);
    }
}

static void zsh_option(FILE *to, const cli_option *option)
{
    fputs("            ", to);
    if (is_positional(option)) {
        fprintf(to, "'%s", option->optional ? "::" : ":");
        zsh_text(to, option->name);
        fputc(':', to);
        zsh_action(to, option);
    } else {
        if (option->letter)
            fprintf(to, "'(-%c %s)'{-%c%s,%s%s}'[", option->letter, option->name, option->letter,
                    option->value ? "+" : "", option->name, option->value ? "=" : "");
        else
            fprintf(to, "'%s%s[", option->name, option->value ? "=" : "");
        zsh_text(to, option->help);
        fputc(']', to);
        if (option->value) {
            fputc(':', to);
            zsh_text(to, option->value);
            fputc(':', to);
            zsh_action(to, option);
        }
    }
    fputs("' \\\n", to);
}

static void zsh(const char *folder)
{
    FILE *to = create(folder, "%s", "_tessera");
    fputs("#compdef tessera\nlocal -a commands\ncommands=(\n", to);
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(to, "    '%s:", cli_commands[i]->name);
        zsh_text(to, cli_commands[i]->summary);
        fputs("'\n", to);
    }
    fputs("    'help:the options of a command'\n)\n"
          "if (( CURRENT == 2 )) || { [[ $words[2] == help ]] && (( CURRENT == 3 )) }; then\n"
          "    _describe command commands\n    return\nfi\n"
          "local name=$words[2]\nshift words\n(( CURRENT-- ))\ncase $name in\n",
          to);
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(to, "    %s)\n        _arguments -s \\\n", cli_commands[i]->name);
        for (const cli_option *option = cli_commands[i]->options; option->name; option++)
            zsh_option(to, option);
        fputs("            '(-h --help)'{-h,--help}'[print the options]'\n        ;;\n", to);
    }
    fputs("esac\n", to);
    close_file(to);
}

/* ---- fish ---- */

static void fish_text(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++)
        fprintf(to, strchr("'\\", *text) ? "\\%c" : "%c", *text);
    fputc('\'', to);
}

static void fish_option(FILE *to, const cli_command *command, const cli_option *option)
{
    const words list = words_of(option);
    const char *const files = files_of(option);
    const int takes_any = files && strcmp(files, "*") == 0;
    if (is_positional(option) && !list.count && !files)
        return;
    fprintf(to, "complete -c tessera -n '__fish_seen_subcommand_from %s'", command->name);
    if (!is_positional(option)) {
        fprintf(to, " -l %s", option->name + 2);
        if (option->letter)
            fprintf(to, " -s %c", option->letter);
        fputs(!option->value ? "" : files ? " -r -F" : " -x", to);
    } else if (takes_any) {
        fputs(" -F", to);
    }
    if (list.count || (files && !takes_any)) {
        fputs(" -a '", to);
        print_words(to, &list);
        if (files && !takes_any)
            fprintf(to, " (__fish_complete_suffix %s | string match -r \".*(?:\\%s|/)\\z\")", files + 1, files + 1);
        fputc('\'', to);
    }
    fputs(" -d ", to);
    fish_text(to, option->help);
    fputc('\n', to);
}

static void fish(const char *folder)
{
    FILE *to = create(folder, "%s", "tessera.fish");
    fputs("# fish completion of tessera\ncomplete -c tessera -f\n", to);
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(to, "complete -c tessera -n __fish_use_subcommand -a %s -d ", cli_commands[i]->name);
        fish_text(to, cli_commands[i]->summary);
        fputc('\n', to);
    }
    fputs("complete -c tessera -n __fish_use_subcommand -a help -d 'the options of a command'\n"
          "complete -c tessera -n '__fish_seen_subcommand_from help' -a '",
          to);
    print_command_names(to);
    fputs("'\n", to);
    for (size_t i = 0; cli_commands[i]; i++) {
        for (const cli_option *option = cli_commands[i]->options; option->name; option++)
            fish_option(to, cli_commands[i], option);
        fprintf(to, "complete -c tessera -n '__fish_seen_subcommand_from %s' -l help -s h -d 'print the options'\n",
                cli_commands[i]->name);
    }
    close_file(to);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_pages FOLDER\n");
        return 2;
    }
    man_overview(argv[1]);
    for (size_t i = 0; cli_commands[i]; i++)
        man_of_command(argv[1], cli_commands[i]);
    bash(argv[1]);
    zsh(argv[1]);
    fish(argv[1]);
    return 0;
}
