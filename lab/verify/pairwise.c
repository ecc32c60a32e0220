#include "lab/verify/pairwise.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "lab/common/random.h"

#define CANDIDATES 40

/* Pairs not covered yet: open[f][g][i] has bit j set if level i of f has not met level j of g; kept for both orders. */
typedef struct search {
    const int *levels;
    int factors;
    long left; /* pairs not covered, each counted once */
    uint16_t open[LAB_FACTORS_MAX][LAB_FACTORS_MAX][LAB_LEVELS_MAX];
    lab_random random;
} search;

static void open_all(search *s)
{
    s->left = 0;
    for (int f = 0; f < s->factors; f++)
        for (int g = 0; g < s->factors; g++) {
            if (f == g)
                continue;
            for (int i = 0; i < s->levels[f]; i++)
                s->open[f][g][i] = (uint16_t)((1u << s->levels[g]) - 1u);
            if (f < g)
                s->left += (long)s->levels[f] * s->levels[g];
        }
}

/* Pairs that level `level` of factor f would cover with the factors set so far. */
static int gain(const search *s, int f, int level, const unsigned char *row, const int *order, int set)
{
    int covered = 0;
    for (int o = 0; o < set; o++)
        covered += s->open[f][order[o]][level] >> row[order[o]] & 1;
    return covered;
}

/* Open pairs of a level with whatever the others will be. */
static int prospects(const search *s, int f, int level)
{
    int open = 0;
    for (int g = 0; g < s->factors; g++)
        if (g != f)
            open += __builtin_popcount(s->open[f][g][level]);
    return open;
}

/* The best level of factor f: by what it covers at once, or, while nothing else is set, by its prospects; ties go by
 * chance. */
static unsigned char choose(search *s, int f, const unsigned char *row, const int *order, int set)
{
    int best_score = -1;
    uint64_t ties = 0;
    unsigned char best = 0;
    for (int level = 0; level < s->levels[f]; level++) {
        const int score = set == 0 ? prospects(s, f, level) : gain(s, f, level, row, order, set);
        if (score > best_score) {
            best_score = score;
            best = (unsigned char)level;
            ties = 1;
        } else if (score == best_score && lab_random_below(&s->random, ++ties) == 0) {
            best = (unsigned char)level;
        }
    }
    return best;
}

static void shuffle(lab_random *random, int *order, int count)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)lab_random_below(random, (uint64_t)i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static long covered_by(const search *s, const unsigned char *row)
{
    long covered = 0;
    for (int f = 0; f < s->factors; f++)
        for (int g = f + 1; g < s->factors; g++)
            covered += s->open[f][g][row[f]] >> row[g] & 1;
    return covered;
}

static void make_row(search *s, unsigned char *row)
{
    int order[LAB_FACTORS_MAX] = {0};
    shuffle(&s->random, order, s->factors);
    for (int set = 0; set < s->factors; set++)
        row[order[set]] = choose(s, order[set], row, order, set);
}

static void close_pairs(search *s, const unsigned char *row)
{
    s->left -= covered_by(s, row);
    for (int f = 0; f < s->factors; f++)
        for (int g = 0; g < s->factors; g++)
            if (f != g)
                s->open[f][g][row[f]] &= (uint16_t) ~(1u << row[g]);
}

static tsr_status add_row(lab_cover *cover, const unsigned char *row)
{
    if ((cover->count & (cover->count - 1)) == 0) { /* full: capacities are powers of two */
        void *rows = realloc(cover->rows, (cover->count == 0 ? 1 : 2 * cover->count) * sizeof *cover->rows);
        if (rows == NULL)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a cover of %zu rows", cover->count + 1);
        cover->rows = rows;
    }
    memcpy(cover->rows[cover->count++], row, LAB_FACTORS_MAX);
    return TSR_OK;
}

tsr_status lab_pairwise(const int *levels, int factors, uint64_t seed, lab_cover *out)
{
    search s = {.levels = levels, .factors = factors, .random = lab_random_make(seed, 0)};
    memset(out, 0, sizeof *out);
    out->factors = factors;
    open_all(&s);
    /* One factor has no pairs; its levels still must occur. */
    if (factors == 1)
        s.left = levels[0];
    while (s.left > 0) {
        unsigned char best[LAB_FACTORS_MAX] = {0}, row[LAB_FACTORS_MAX] = {0};
        long best_covered = -1;
        for (int candidate = 0; candidate < CANDIDATES && factors > 1; candidate++) {
            make_row(&s, row);
            const long covered = covered_by(&s, row);
            if (covered > best_covered) {
                best_covered = covered;
                memcpy(best, row, sizeof best);
            }
        }
        if (factors == 1)
            best[0] = (unsigned char)--s.left;
        else
            close_pairs(&s, best);
        const tsr_status status = add_row(out, best);
        if (status != TSR_OK) {
            lab_cover_free(out);
            return status;
        }
    }
    return TSR_OK;
}

void lab_cover_free(lab_cover *cover)
{
    free(cover->rows);
    memset(cover, 0, sizeof *cover);
}
