#include "cli/out_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int cli_out_open(const cli_command *self, const char *path, cli_out_file *out)
{
    cli_message error;
    *out = (cli_out_file){.to = stdout, .path = path, .file = {.fd = -1}};
    if (!path)
        return CLI_CONTINUE;
    if (!cli_atomic_open(path, 0, &out->file, &error))
        return cli_failure(self, "%s: %s", path, error.text);
    const int fd = dup(out->file.fd);
    out->to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out->to)
        return CLI_CONTINUE;
    const int code = cli_failure(self, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    cli_atomic_abandon(&out->file);
    return code;
}

int cli_out_close(const cli_command *self, cli_out_file *out, int code)
{
    cli_message error;
    if (!out->path)
        return code;
    errno = 0;
    const int is_written = ferror(out->to) == 0;
    if ((fclose(out->to) == 0) + is_written < 2) {
        cli_atomic_abandon(&out->file);
        return cli_failure(self, "%s: cannot be written: %s", out->path, errno ? strerror(errno) : "write error");
    }
    if (code != CLI_OK) {
        cli_atomic_abandon(&out->file);
        return code;
    }
    if (!cli_atomic_commit(&out->file, &error))
        return cli_failure(self, "%s: %s", out->path, error.text);
    return CLI_OK;
}
