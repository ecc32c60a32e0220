#include "cli/gpu_choice.h"
#include "cli/api_error.h"

#include <stdio.h>
#include <string.h>

int cli_parse_gpu(const cli_option *option, const char *text, void *to, cli_message *error)
{
    (void)option;
    if (strcmp(text, "this") != 0 && !lab_gpu_spec_find(text)) {
        char names[200] = "this";
        for (size_t i = 0; lab_gpu_spec_at(i); i++) {
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, ", %s", lab_gpu_spec_at(i)->id);
        }
        return cli_reject(error, "needs one of %s, not '%s'", names, text);
    }
    *(const char **)to = text;
    return 1;
}

const lab_gpu_spec *cli_gpu_choose(const cli_command *self, const char *asked, lab_gpu_here *here)
{
    if (asked && strcmp(asked, "this") != 0)
        return lab_gpu_spec_find(asked);
    if (lab_gpu_find_here(here) == TSR_OK)
        return &here->spec;
    if (!asked)
        return lab_gpu_spec_find("h200");
    cli_api_failure(self);
    return NULL;
}
