#include "lab/common/random.h"

#include <math.h>
#include <string.h>

#include "core/dtype.h"
#include "lab/common/parallel.h"

/* Elements that one sequence fills: the unit of work of a thread, and independent of how many threads there are. */
#define CHUNK_ELEMS 65536

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

lab_random lab_random_make(uint64_t seed, uint64_t stream)
{
    lab_random random = {{0}, 0.0, 0};
    uint64_t stream_state = stream;
    uint64_t state = seed ^ splitmix64(&stream_state);
    for (int i = 0; i < 4; i++)
        random.s[i] = splitmix64(&state);
    return random;
}

uint64_t lab_random_u64(lab_random *random)
{
    uint64_t *s = random->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t lab_random_below(lab_random *random, uint64_t bound)
{
    /* Draws below 2^64 mod bound would make the small results more likely. */
    uint64_t uneven = (0 - bound) % bound;
    uint64_t draw;
    do
        draw = lab_random_u64(random);
    while (draw < uneven);
    return draw % bound;
}

double lab_random_unit(lab_random *random)
{
    return (double)(lab_random_u64(random) >> 11) * 0x1p-53;
}

double lab_random_normal(lab_random *random)
{
    if (random->has_spare) {
        random->has_spare = 0;
        return random->spare;
    }
    /* 1 - u is in (0, 1], so the logarithm is finite. */
    double radius = sqrt(-2.0 * log(1.0 - lab_random_unit(random)));
    double sine, cosine;
    sincos(2.0 * M_PI * lab_random_unit(random), &sine, &cosine);
    random->spare = radius * sine;
    random->has_spare = 1;
    return radius * cosine;
}

static double special_value(lab_random *random, tsr_dtype dtype)
{
    /* E4M3 has no infinities. */
    switch (lab_random_below(random, dtype == TSR_E4M3 ? 1 : 3)) {
    case 0:
        return NAN;
    case 1:
        return INFINITY;
    default:
        return -INFINITY;
    }
}

static double draw(lab_fill_kind kind, double limit, tsr_dtype dtype, lab_random *random)
{
    switch (kind) {
    case LAB_FILL_SPECIAL:
        if (!tsr_dtype_is_integer(dtype) && lab_random_unit(random) * limit < 1.0)
            return special_value(random, dtype);
        return lab_random_normal(random);
    case LAB_FILL_NORMAL:
        return tsr_dtype_is_integer(dtype) ? nearbyint(20.0 * lab_random_normal(random)) : lab_random_normal(random);
    case LAB_FILL_INTEGERS: {
        uint64_t top = limit < 0.0 ? 0 : (uint64_t)limit;
        if (tsr_element_of(dtype)->is_unsigned)
            return (double)lab_random_below(random, top + 1);
        return (double)lab_random_below(random, 2 * top + 1) - (double)top;
    }
    case LAB_FILL_NAN:
        return tsr_dtype_is_integer(dtype) ? -0x1p31 : NAN; /* saturates to the lowest value */
    case LAB_FILL_ZERO:
        break;
    }
    return 0.0;
}

typedef struct fill_job {
    lab_fill_kind kind;
    double limit;
    tsr_dtype dtype;
    void *array;
    int64_t count;
    uint64_t seed;
} fill_job;

static void fill_chunk(void *user, int64_t chunk)
{
    const fill_job *job = user;
    lab_random random = lab_random_make(job->seed, (uint64_t)chunk);
    int64_t begin = chunk * CHUNK_ELEMS;
    int64_t end = job->count - begin < CHUNK_ELEMS ? job->count : begin + CHUNK_ELEMS;
    for (int64_t i = begin; i < end; i++)
        tsr_store_element(job->dtype, job->array, i, draw(job->kind, job->limit, job->dtype, &random));
}

void lab_fill(lab_fill_kind kind, double limit, tsr_dtype dtype, void *array, int64_t count, uint64_t seed)
{
    fill_job job = {kind, limit, dtype, array, count, seed};
    lab_parallel((count + CHUNK_ELEMS - 1) / CHUNK_ELEMS, 0, fill_chunk, &job);
}
