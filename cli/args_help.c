/* --help of a command, from its table. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/output.h"

enum { HELP_INDENT = 2, HELP_WIDEST = 34 };

static int term(const cli_option *option, char *out, size_t bytes)
{
    char letter[8] = "";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    return snprintf(out, bytes, "%s%s%s%s", letter, option->name, option->value ? " " : "",
                    option->value ? option->value : "");
}

static void print_row(const char *text, const char *help, int width)
{
    int length = (int)strlen(text);
    printf("%*s%s", HELP_INDENT, "", text);
    if (length > width)
        printf("\n%*s", HELP_INDENT + width + 2, "");
    else
        printf("%*s", width - length + 2, "");
    cli_print_wrapped(stdout, help, HELP_INDENT + width + 2, HELP_INDENT + width + 2);
}

static void print_kernels(void)
{
    char line[2048];
    size_t used = 0;
    const char *name;
    for (size_t i = 0; (name = cli_kernel_name(i)) != NULL && used < sizeof line; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", i ? " " : "", name);
    printf("\nkernels: ");
    cli_print_wrapped(stdout, used ? line : "none", 9, 9);
}

void cli_print_help(const cli_command *command)
{
    char text[256];
    int width = (int)strlen("-h, --help"), has_kernels = 0;
    for (const cli_option *option = command->options; option->name; option++) {
        int length = term(option, text, sizeof text);
        if (length > width && length <= HELP_WIDEST)
            width = length;
        has_kernels |= option->parse == cli_parse_kernel || option->parse == cli_parse_kernels_or_all ||
                       option->parse == cli_parse_kernels || option->parse == cli_parse_kernel_schedules;
    }
    printf("tessera %s: %s\n\nusage: ", command->name, command->summary);
    snprintf(text, sizeof text, "tessera %s %s", command->name, command->usage);
    cli_print_wrapped(stdout, text, 7, 11 + (int)strlen(command->name));
    putchar('\n');
    for (const cli_option *option = command->options; option->name; option++) {
        term(option, text, sizeof text);
        print_row(text, option->help, width);
    }
    print_row("-h, --help", "this text", width);
    if (has_kernels)
        print_kernels();
    if (command->notes) {
        putchar('\n');
        cli_print_wrapped(stdout, command->notes, 0, 0);
    }
}
