/* Files that appear whole or not at all, whatever ends the process; signals; inputs that shrink. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/atomic_file.h"
#include "cli/interrupt.h"
#include "cli/npy.h"

static char folder[] = "/tmp/tessera-unit-atomic-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return system("rm -rf \"$PWD\"") == 0 ? 0 : -1;
}

static int files_here(void)
{
    FILE *pipe = popen("ls -A | wc -l", "r");
    int count = -1;
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

static void put(cli_atomic_file *file, const char *text)
{
    assert_int_equal(write(file->fd, text, strlen(text)), strlen(text));
}

static void expect(const char *path, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    found[fread(found, 1, sizeof found - 1, file)] = 0;
    fclose(file);
    assert_string_equal(found, text);
}

/* Both ways of writing: replaced at once, nothing left of what is abandoned, links followed, the umask's mode at
 * first, which then stays. */
static void test_atomic(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        cli_atomic_file file;
        cli_message error = {""};
        struct stat status;
        int before = files_here();
        mode_t old = umask(027);
        assert_true(cli_atomic_open("atom", named, &file, &error));
        put(&file, "one");
        assert_int_equal(access("atom", F_OK), -1);
        assert_true(cli_atomic_commit(&file, &error));
        assert_int_equal(file.fd, -1);
        expect("atom", "one");

        umask(0);
        assert_true(cli_atomic_open("atom", named, &file, &error));
        put(&file, "two");
        expect("atom", "one");
        assert_true(cli_atomic_commit(&file, &error));
        umask(old);
        expect("atom", "two");
        assert_int_equal(stat("atom", &status), 0);
        assert_int_equal(status.st_mode & 0777, 0640);

        assert_int_equal(symlink("atom", "link"), 0);
        assert_true(cli_atomic_open("link", named, &file, &error));
        put(&file, "three");
        assert_true(cli_atomic_commit(&file, &error));
        expect("atom", "three");
        assert_int_equal(lstat("link", &status), 0);
        assert_true(S_ISLNK(status.st_mode));

        assert_true(cli_atomic_open("atom", named, &file, &error));
        put(&file, "four");
        cli_atomic_abandon(&file);
        cli_atomic_abandon(&file);
        expect("atom", "three");
        assert_int_equal(files_here(), before + 2);
        assert_int_equal(unlink("atom") + unlink("link"), 0);
    }
}

/* The folder vanishes while the file is written: an error, and no crash. */
static void test_commit_fails(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        cli_atomic_file file;
        cli_message error = {""};
        assert_int_equal(mkdir("gone", 0700), 0);
        assert_true(cli_atomic_open("gone/file", named, &file, &error));
        assert_int_equal(system("rm -rf gone"), 0);
        assert_false(cli_atomic_commit(&file, &error));
        assert_string_equal(error.text, "cannot be written: No such file or directory");
    }
}

/* ---- signals
 * ---------------------------------------------------------------------------------------------------------- */

/* Runs `work` in a process of its own, with stderr in ./err; its wait status. */
static int in_child(void (*work)(int), int argument)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        if (!freopen("err", "w", stderr))
            _exit(99);
        work(argument);
        _exit(98); /* `work` was to end the process */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* A handler of the test runner's, or of a sanitizer, is not what a fresh command has. */
static void fresh_signals(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

static void die_while_writing(int number)
{
    cli_atomic_file file;
    cli_message error;
    fresh_signals();
    if (!cli_atomic_open("victim", 1, &file, &error))
        _exit(97);
    put(&file, "half");
    raise(number);
}

static void test_signals_remove_the_temporary_file(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    fclose(fopen("err", "w"));
    const int before = files_here();
    for (size_t i = 0; i < 3; i++) {
        const int status = in_child(die_while_writing, numbers[i]);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), numbers[i]);
        assert_int_equal(files_here(), before);
    }
}

static void survive_ignored(int number)
{
    cli_atomic_file file;
    cli_message error;
    fresh_signals();
    signal(number, SIG_IGN); /* as nohup does */
    if (!cli_atomic_open("victim", 1, &file, &error))
        _exit(97);
    put(&file, "whole");
    raise(number);
    _exit(cli_atomic_commit(&file, &error) ? 0 : 96);
}

static void test_ignored_signals_stay_ignored(void **state)
{
    (void)state;
    assert_int_equal(in_child(survive_ignored, SIGHUP), 0);
    expect("victim", "whole");
    assert_int_equal(unlink("victim"), 0);
}

static void stop_gracefully(int twice)
{
    fresh_signals();
    const volatile sig_atomic_t *stop = cli_interrupt_catch();
    if (*stop || cli_interrupted())
        _exit(97);
    cli_interrupt_die(); /* nothing came yet */
    raise(SIGINT);
    if (*stop != SIGINT || cli_interrupted() != SIGINT)
        _exit(96);
    raise(SIGINT); /* an echo */
    if (!twice)
        cli_interrupt_die();
    usleep(400000);
    raise(SIGTERM);
}

static void test_graceful_stop(void **state)
{
    (void)state;
    int status = in_child(stop_gracefully, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    status = in_child(stop_gracefully, 1);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void read_beyond(int unused)
{
    (void)unused;
    cli_npy npy;
    cli_message error;
    if (!cli_npy_open("shrinks.npy", &npy, &error) || truncate("shrinks.npy", 128) != 0)
        _exit(97);
    volatile float last = ((const float *)npy.data)[300 * 300 - 1];
    (void)last;
}

static void test_shrinking_input(void **state)
{
    (void)state;
    cli_npy_writer writer;
    cli_message error;
    const cli_npy_header shape = {.dtype = TSR_F32, .batch = 1, .rows = 300, .columns = 300};
    assert_true(cli_npy_create("shrinks.npy", &shape, &writer, &error));
    assert_true(cli_npy_commit(&writer, &error));
    const int status = in_child(read_beyond, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CLI_FAILED);
    char found[100] = "";
    FILE *file = fopen("err", "r");
    assert_non_null(file);
    assert_non_null(fgets(found, sizeof found, file));
    fclose(file);
    assert_string_equal(found, "tessera: a mapped file shrank or could not be read while it was in use\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_atomic),
        cmocka_unit_test(test_commit_fails),
        cmocka_unit_test(test_signals_remove_the_temporary_file),
        cmocka_unit_test(test_ignored_signals_stay_ignored),
        cmocka_unit_test(test_graceful_stop),
        cmocka_unit_test(test_shrinking_input),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
