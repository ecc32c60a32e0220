/* The command `tessera`: finds the sub-command and runs it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "tessera.h"

static size_t command_count(void)
{
    size_t count = 0;
    while (cli_commands[count])
        count++;
    return count;
}

static const char *command_name(size_t index, const void *user)
{
    (void)user;
    return cli_commands[index]->name;
}

static const cli_command *find_command(const char *name)
{
    for (size_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *nearest = cli_nearest(name, command_count(), command_name, NULL);
    const char *what = name[0] == '-' ? "option" : "command";
    if (nearest)
        return cli_usage_error(NULL, "unknown %s %s; did you mean %s?", what, name, nearest);
    return cli_usage_error(NULL, "unknown %s %s; tessera --help lists the commands", what, name);
}

static void print_overview(FILE *to)
{
    fprintf(to,
            "tessera %s: tiled matrix multiplication\n\n"
            "usage: tessera COMMAND [arguments]\n"
            "       tessera COMMAND --help, or tessera help COMMAND\n"
            "       tessera --version\n\n",
            tsr_version());
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(to, "  %-9s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fprintf(to, "\nexit codes: 0 success, 1 the work failed, 2 the arguments are wrong\n");
}

static void tell(const char *line, void *user)
{
    (void)user;
    fprintf(stderr, "tessera: %s\n", line);
}

/* A command that a signal stopped has said what it had; the process then ends as the signal would have ended it. */
static int run_command(const cli_command *command, int argc, char **argv)
{
    tsr_check_environment(tell, NULL);
    int code = cli_finish_output(command, command->run(command, argc, argv));
    cli_interrupt_die();
    return code;
}

/* Where a standard stream is closed, the next file opened would take its place, and messages would go into data. A
 * stream that cannot be written to takes the place instead, so that a lost output is still an error. */
static void occupy_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* "help", or "help COMMAND". */
static int print_help(int argc, char **argv)
{
    const cli_command *command = argc > 0 ? find_command(argv[0]) : NULL;
    if (argc > 1)
        return cli_usage_error(NULL, "unexpected argument '%s': usage is tessera help COMMAND", argv[1]);
    if (argc > 0 && !command)
        return unknown_command(argv[0]);
    if (command)
        cli_print_help(command);
    else
        print_overview(stdout);
    return cli_finish_output(NULL, CLI_OK);
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    if (argc < 2) {
        print_overview(stderr);
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return print_help(argc - 2, argv + 2);
    if (strcmp(name, "--version") == 0) {
        if (argc > 2)
            return cli_usage_error(NULL, "unexpected argument '%s': usage is tessera --version", argv[2]);
        printf("tessera %s\n", tsr_version());
        return cli_finish_output(NULL, CLI_OK);
    }
    const cli_command *command = find_command(name);
    return command ? run_command(command, argc - 2, argv + 2) : unknown_command(name);
}
