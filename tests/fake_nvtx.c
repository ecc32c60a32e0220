#include "fake_nvtx.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

extern VISIBLE fake_nvtx fake_nvtx_state;
fake_nvtx fake_nvtx_state;

static void note(const char *what, const char *name)
{
    fake_nvtx *const s = &fake_nvtx_state;
    const size_t used = strlen(s->text);
    snprintf(s->text + used, sizeof s->text - used, "%s%s at %d; ", what, name, s->launches ? s->launches() : 0);
}

static int push(const char *name)
{
    note("push ", name);
    return fake_nvtx_state.depth++;
}

static int pop(void)
{
    note("pop", "");
    return --fake_nvtx_state.depth;
}

/* Version 2: functions of the library. */
VISIBLE int nvtxRangePushA(const char *name);
int nvtxRangePushA(const char *name)
{
    return push(name);
}

VISIBLE int nvtxRangePop(void);
int nvtxRangePop(void)
{
    return pop();
}

/* Version 3: the program offers tables (NVIDIA's nvtx3/nvtxDetail/nvtxTypes.h). */
typedef void function(void);
typedef struct callbacks {
    size_t bytes;
    int (*table_of)(int module, function ****table, unsigned *count);
} callbacks;
typedef struct version {
    size_t bytes;
    uint32_t version, reserved;
    void (*set)(uint32_t version);
} version;

VISIBLE int InitializeInjectionNvtx2(const void *(*table_of)(uint32_t id));
int InitializeInjectionNvtx2(const void *(*table_of)(uint32_t id))
{
    enum { RANGE_PUSH = 9, RANGE_POP = 11, NONE = 77 };
    fake_nvtx *const s = &fake_nvtx_state;
    const callbacks *offered = table_of(1);
    const version *who = table_of(3);
    function ***table = NULL;
    unsigned count = 0;
    s->attached++;
    if (s->refuses)
        return 0;
    s->errors += !offered || offered->bytes != sizeof *offered || !who || who->bytes != sizeof *who || table_of(NONE);
    if (s->errors || !offered->table_of(1, &table, &s->core_functions))
        return 0;
    s->version = who->version;
    who->set(3);
    /* Nothing before the first function and behind the last, a place for each other one; the same in all modules. */
    for (int module = 1; module <= 6; module++) {
        s->errors += !offered->table_of(module, &table, &count) || table[0] || table[count];
        for (unsigned i = 1; i < count; i++)
            s->errors += !table[i];
    }
    s->errors += offered->table_of(0, &table, &count) || offered->table_of(NONE, &table, &count);
    offered->table_of(1, &table, NULL);
    *table[RANGE_PUSH] = (function *)push;
    *table[RANGE_POP] = (function *)pop;
    return 1;
}
