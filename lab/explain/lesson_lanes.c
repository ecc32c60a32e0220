/* Which accesses of a warp's lanes are one instruction: as the counters have it, by the blocks that each lane went
 * through (emu/watch.h). */
#include <stdlib.h>
#include <string.h>

#include "lab/explain/lesson_run.h"
#include "lab/predict/count_run.h"

enum { PLACES_MAX = 512, NEAR = 8 };

typedef struct watching {
    lesson_lanes *lanes;
    unsigned warp; /* the one whose instructions come */
    const void *places[PLACES_MAX];
    uint32_t turns[PLACES_MAX]; /* how often it was there since the last barrier */
    size_t place_count;
} watching;

static void forget(watching *w)
{
    w->place_count = 0;
}

static uint32_t next_turn(watching *w, const void *place)
{
    size_t i = 0;
    while (i < w->place_count && w->places[i] != place)
        i++;
    if (i == PLACES_MAX)
        return 0;
    if (i == w->place_count) {
        w->places[i] = place;
        w->turns[i] = 0;
        w->place_count++;
    }
    return w->turns[i]++;
}

static void put(lesson_lanes *lanes, unsigned thread, lesson_turn turn)
{
    lesson_turns *to = &lanes->of_thread[thread];
    if (to->count == to->capacity) {
        const size_t capacity = to->capacity ? 2 * to->capacity : 64;
        lesson_turn *items = realloc(to->items, capacity * sizeof *items);
        if (!items) {
            lanes->out_of_memory = 1;
            return;
        }
        to->items = items;
        to->capacity = capacity;
    }
    to->items[to->count++] = turn;
}

static int is_access(tsr_watch_kind kind)
{
    return kind == TSR_WATCH_GLOBAL_LOAD || kind == TSR_WATCH_GLOBAL_STORE || kind == TSR_WATCH_SHARED_LOAD ||
           kind == TSR_WATCH_SHARED_STORE || kind == TSR_WATCH_COPY;
}

static void *begin_cta(void *user, long long cta)
{
    (void)cta;
    watching *w = calloc(1, sizeof *w);
    if (w)
        w->lanes = user;
    return w;
}

static void see_event(void *state, const tsr_watch_event *event)
{
    watching *w = state;
    if (!is_access(event->kind))
        return;
    if (event->warp != w->warp)
        forget(w);
    w->warp = event->warp;
    const uint32_t turn = next_turn(w, event->place);
    const uint64_t *at = event->kind == TSR_WATCH_COPY ? event->shared : event->address;
    for (uint32_t rest = event->lanes; rest; rest &= rest - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(rest), thread = 32 * event->warp + lane;
        if (thread < w->lanes->threads)
            put(w->lanes, thread, (lesson_turn){event->place, at[lane], turn});
    }
}

static void see_barrier(void *state)
{
    forget(state);
}

static void end_cta(void *user, void *state)
{
    (void)user;
    free(state);
}

tsr_emu_watcher lab_lesson_watcher(lesson_lanes *lanes)
{
    return (tsr_emu_watcher){.user = lanes,
                             .code = lab_watched_find,
                             .begin = begin_cta,
                             .event = see_event,
                             .barrier = see_barrier,
                             .end = end_cta};
}

int lab_lesson_lanes_make(lesson_lanes *lanes, unsigned threads)
{
    *lanes = (lesson_lanes){.threads = threads, .of_thread = calloc(threads ? threads : 1, sizeof *lanes->of_thread)};
    return lanes->of_thread != NULL;
}

void lab_lesson_lanes_free(lesson_lanes *lanes)
{
    for (unsigned i = 0; lanes->of_thread && i < lanes->threads; i++)
        free(lanes->of_thread[i].items);
    free(lanes->of_thread);
    *lanes = (lesson_lanes){0};
}

int lab_lesson_turn(lesson_lanes *lanes, unsigned thread, const void *place, uint64_t at, uint32_t *turn)
{
    lesson_turns *own = &lanes->of_thread[thread];
    for (size_t i = own->next; i < own->count && i < own->next + NEAR; i++)
        if (own->items[i].place == place && own->items[i].at == at) {
            own->next = i + 1;
            *turn = own->items[i].turn;
            return 1;
        }
    return 0;
}
