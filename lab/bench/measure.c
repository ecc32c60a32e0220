#include "lab/bench/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/error.h"
#include "lab/common/stats.h"

#define CALLS_MAX      1000000
#define SETTLED_BLOCKS 3    /* warm-up ends when this many blocks in a row ... */
#define SETTLED_WITHIN 0.03 /* ... differ by no more than this */
#define BLOCKS_MAX     200
#define TAPE_CALLS     200 /* at most, of captured work; longer tapes only take longer to make */

typedef struct run_state {
    const lab_measure_options *options;
    const lab_operands *operands;
    size_t next_set; /* goes round through all contestants, so that nobody finds what another left in a cache */
} run_state;

static int stopped(const lab_measure_options *options)
{
    return options->stop != NULL && *options->stop != 0;
}

static tsr_status give_up(lab_contestant *contestant, tsr_status status)
{
    contestant->status = status;
    snprintf(contestant->message, sizeof contestant->message, "%s", tsr_last_error());
    return TSR_OK;
}

static tsr_status make_calls(run_state *state, lab_contestant *contestant, long long calls)
{
    tsr_status status = TSR_OK;
    for (long long i = 0; i < calls && status == TSR_OK; i++) {
        status = contestant->call(contestant->user, &state->operands->sets[state->next_set]);
        state->next_set = (state->next_set + 1) % state->operands->count;
    }
    return status;
}

/* Captures some of the contestant's calls. A refusal strikes the contestant out. */
static tsr_status make_tape(run_state *state, lab_contestant *contestant)
{
    const lab_timer *timer = state->options->timer;
    const long long calls = contestant->calls < TAPE_CALLS ? contestant->calls : TAPE_CALLS;
    tsr_status status = timer->ops->record(timer->state);
    if (status != TSR_OK)
        return status;
    tsr_status call_status = make_calls(state, contestant, calls);
    if (call_status != TSR_OK)
        give_up(contestant, call_status);
    status = timer->ops->recorded(timer->state, &contestant->tape);
    if (call_status == TSR_OK && status != TSR_OK)
        give_up(contestant, status);
    contestant->replays = (contestant->calls + calls - 1) / calls;
    contestant->calls = contestant->replays * calls;
    return TSR_OK;
}

static tsr_status replay_tape(const run_state *state, const lab_contestant *contestant)
{
    const lab_timer *timer = state->options->timer;
    tsr_status status = TSR_OK;
    for (long long i = 0; i < contestant->replays && status == TSR_OK; i++)
        status = timer->ops->replay(timer->state, contestant->tape);
    return status;
}

/* Times `calls` calls; *ns_per_call is negative when a call failed (the contestant then says why). */
static tsr_status time_calls(run_state *state, lab_contestant *contestant, long long calls, double *ns_per_call)
{
    const lab_timer *timer = state->options->timer;
    double elapsed_ns = 0.0;
    *ns_per_call = -1.0;
    tsr_status status = timer->ops->begin(timer->state, state->options->stream);
    if (status != TSR_OK)
        return status;
    const tsr_status call_status =
        contestant->tape ? replay_tape(state, contestant) : make_calls(state, contestant, calls);
    if (call_status != TSR_OK)
        give_up(contestant, call_status);
    status = timer->ops->end(timer->state, state->options->stream, &elapsed_ns);
    if (status != TSR_OK)
        return call_status != TSR_OK ? TSR_OK : status;
    if (call_status == TSR_OK)
        *ns_per_call = elapsed_ns / (double)calls;
    return TSR_OK;
}

static long long calls_for(double aimed_ns, double call_ns)
{
    if (call_ns <= 0.0)
        return 1;
    const double calls = ceil(aimed_ns / call_ns);
    return calls < 1.0 ? 1 : calls > CALLS_MAX ? CALLS_MAX : (long long)calls;
}

static int settled(const double *times, size_t count)
{
    if (count < SETTLED_BLOCKS)
        return 0;
    const double *last = times + count - SETTLED_BLOCKS;
    double low = last[0], high = last[0];
    for (int i = 1; i < SETTLED_BLOCKS; i++) {
        low = fmin(low, last[i]);
        high = fmax(high, last[i]);
    }
    return high <= low * (1.0 + SETTLED_WITHIN);
}

/* Runs the contestant until its times have settled or the warm-up is over; sets its calls and gives the time of one. */
static tsr_status warm_up(run_state *state, lab_contestant *contestant, double *call_ns)
{
    const lab_measure_options *options = state->options;
    const double begin_ns = lab_now_ns();
    double times[BLOCKS_MAX];
    contestant->calls = 1;
    /* The first call may load code and touch memory for the first time; it only ends the warm-up if it is very slow. */
    tsr_status status = time_calls(state, contestant, 1, call_ns);
    if (status != TSR_OK || *call_ns < 0.0 || *call_ns > options->warm_ns)
        return status;
    for (size_t blocks = 0; blocks < BLOCKS_MAX;) {
        contestant->calls = calls_for(options->round_ns, *call_ns);
        status = time_calls(state, contestant, contestant->calls, call_ns);
        if (status != TSR_OK || *call_ns < 0.0)
            return status;
        times[blocks++] = *call_ns;
        if (settled(times, blocks) || lab_now_ns() - begin_ns > options->warm_ns || stopped(options))
            break;
    }
    contestant->calls = calls_for(options->round_ns, *call_ns);
    if (options->captured && !stopped(options)) {
        status = make_tape(state, contestant);
        if (status == TSR_OK && contestant->status == TSR_OK)
            status = time_calls(state, contestant, contestant->calls, call_ns);
    }
    return status;
}

/* Rounds that fit the contestant's budget. */
static size_t rounds_for(const lab_measure_options *options, const lab_contestant *contestant, double call_ns)
{
    const double fit = options->budget_ns / (call_ns * (double)contestant->calls);
    if (fit >= (double)options->rounds)
        return options->rounds;
    return fit < 1.0 ? 1 : (size_t)fit;
}

/* Running mean over the samples that are numbers. */
static void add_sample(double value, double *mean, size_t *count)
{
    if (!isfinite(value))
        return;
    *mean = (*count > 0 ? *mean : 0.0) + (value - (*count > 0 ? *mean : 0.0)) / (double)(*count + 1);
    ++*count;
}

typedef struct share {
    size_t rounds; /* planned for one contestant */
    size_t clock_samples, power_samples;
} share;

static void wait_ns(double ns)
{
    const struct timespec time = {(time_t)(ns * 1e-9), (long)fmod(ns, 1e9)};
    nanosleep(&time, NULL); /* cut short by a signal: then the work is about to stop anyway */
}

static tsr_status run_round(run_state *state, lab_contestant *contestant, share *plan)
{
    double call_ns = 0.0;
    lab_clocks clocks;
    const lab_timer *timer = state->options->timer;
    tsr_status status = TSR_OK;
    if (state->options->pause_ns > 0.0) {
        wait_ns(state->options->pause_ns);
        if (contestant->calls > 1 && !contestant->tape) /* long calls warm themselves up */
            status = time_calls(state, contestant, 1, &call_ns);
    }
    if (status == TSR_OK && call_ns >= 0.0)
        status = time_calls(state, contestant, contestant->calls, &call_ns);
    if (status != TSR_OK || call_ns < 0.0)
        return status;
    contestant->round_ns[contestant->rounds++] = call_ns;
    timer->ops->sample(timer->state, &clocks);
    add_sample(clocks.clock_mhz, &contestant->clocks.clock_mhz, &plan->clock_samples);
    add_sample(clocks.power_w, &contestant->clocks.power_w, &plan->power_samples);
    return TSR_OK;
}

/* Each round starts with another contestant, so that nobody always runs after the same one. */
static tsr_status run_rounds(run_state *state, lab_contestant *contestants, share *shares, size_t count)
{
    for (size_t round = 0; round < state->options->rounds; round++)
        for (size_t turn = 0; turn < count; turn++) {
            const size_t i = (round + turn) % count;
            if (stopped(state->options))
                return TSR_OK;
            if (round >= shares[i].rounds || contestants[i].status != TSR_OK)
                continue;
            const tsr_status status = run_round(state, &contestants[i], &shares[i]);
            if (status != TSR_OK)
                return status;
        }
    return TSR_OK;
}

static tsr_status prepare(run_state *state, lab_contestant *contestant, share *plan)
{
    double call_ns = 0.0;
    contestant->rounds = 0;
    contestant->calls = contestant->replays = 0;
    contestant->tape = NULL;
    contestant->status = TSR_OK;
    contestant->message[0] = '\0';
    contestant->clocks.clock_mhz = contestant->clocks.power_w = (double)NAN;
    contestant->round_ns = calloc(state->options->rounds, sizeof *contestant->round_ns);
    if (contestant->round_ns == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu rounds", state->options->rounds);
    if (stopped(state->options))
        return TSR_OK;
    const tsr_status status = warm_up(state, contestant, &call_ns);
    if (status != TSR_OK || contestant->status != TSR_OK)
        return status;
    plan->rounds = rounds_for(state->options, contestant, call_ns);
    /* So slow that its budget is one call: that call has just been timed, after a warm-up that was the call itself. */
    if (plan->rounds == 1 && contestant->calls == 1 && call_ns > state->options->warm_ns) {
        contestant->round_ns[contestant->rounds++] = call_ns;
        plan->rounds = 0;
    }
    return TSR_OK;
}

tsr_status lab_measure(const lab_measure_options *options, const lab_operands *operands, lab_contestant *contestants,
                       size_t count)
{
    run_state state = {options, operands, 0};
    share *shares = calloc(count, sizeof *shares);
    if (shares == NULL)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu contestants", count);
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < count && status == TSR_OK; i++)
        status = prepare(&state, &contestants[i], &shares[i]);
    if (status == TSR_OK)
        status = run_rounds(&state, contestants, shares, count);
    for (size_t i = 0; i < count; i++) {
        if (contestants[i].tape)
            options->timer->ops->drop(options->timer->state, contestants[i].tape);
        contestants[i].tape = NULL;
    }
    free(shares);
    return status;
}

void lab_contestant_clear(lab_contestant *contestant)
{
    free(contestant->round_ns);
    contestant->round_ns = NULL;
    contestant->rounds = 0;
}
