#include "lab/predict/warp_cost.h"

#include <string.h>

#define FOR_LANES(lane, mask) \
    for (uint32_t rest_ = (mask), lane = 0; rest_ && (lane = (uint32_t)__builtin_ctz(rest_), 1); rest_ &= rest_ - 1)

unsigned lab_warp_sectors(const uint64_t address[32], uint32_t lanes, unsigned bytes, uint64_t out[LAB_WARP_SECTORS])
{
    unsigned count = 0;
    FOR_LANES(lane, lanes)
    {
        if (address[lane] == 0)
            continue;
        const uint64_t last = (address[lane] + bytes - 1) / LAB_SECTOR_BYTES;
        for (uint64_t sector = address[lane] / LAB_SECTOR_BYTES; sector <= last; sector++) {
            unsigned i = count;
            while (i > 0 && out[i - 1] != sector)
                i--;
            if (i == 0 && count < LAB_WARP_SECTORS)
                out[count++] = sector;
        }
    }
    return count;
}

unsigned lab_sector_lines(const uint64_t *sectors, unsigned count)
{
    unsigned lines = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned j = i;
        while (j > 0 && sectors[j - 1] / 4 != sectors[i] / 4)
            j--;
        lines += j == 0;
    }
    return lines;
}

unsigned lab_sector_line_pairs(const uint64_t *sectors, unsigned count)
{
    unsigned pairs = 0;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t line = sectors[i] / 4;
        int is_first = line % 2 == 0, has_other = 0; /* the even line is counted where it comes first */
        for (unsigned j = 0; j < count && is_first; j++) {
            is_first &= j >= i || sectors[j] / 4 != line;
            has_other |= sectors[j] / 4 == line + 1;
        }
        pairs += is_first && has_other;
    }
    return pairs;
}

/* Every lane whose partner takes part wants what its partner wants. */
static int partners_agree(const uint64_t offset[32], uint32_t lanes, unsigned flip)
{
    FOR_LANES(lane, lanes)
    {
        const unsigned partner = lane ^ flip;
        if ((lanes >> partner & 1) && offset[partner] != offset[lane])
            return 0;
    }
    return 1;
}

/* One pass's lanes: how many different words the busiest bank must give; adds the number of words. */
static unsigned busiest(const uint64_t offset[32], uint32_t lanes, unsigned words, lab_banks *banks, unsigned *total)
{
    unsigned most = 0;
    memset(banks->count, 0, sizeof banks->count);
    FOR_LANES(lane, lanes)
    {
        for (unsigned w = 0; w < words; w++) {
            const uint32_t word = (uint32_t)(offset[lane] / 4) + w;
            uint32_t *const of_bank = banks->words[word % 32];
            const unsigned count = banks->count[word % 32];
            unsigned i = 0;
            while (i < count && of_bank[i] != word)
                i++;
            if (i < count)
                continue;
            of_bank[count] = word;
            banks->count[word % 32] = (unsigned char)(count + 1);
            most = count + 1 > most ? count + 1 : most;
            (*total)++;
        }
    }
    return most;
}

lab_wavefronts lab_warp_wavefronts(const uint64_t offset[32], uint32_t lanes, unsigned bytes, lab_banks *banks)
{
    lab_wavefronts sum = {0, 0};
    const unsigned words = bytes <= 4 ? 1 : bytes / 4, group = 32 / (words < 4 ? words : 4);
    for (unsigned first = 0; first < 32; first += group) {
        uint32_t part = group == 32 ? lanes : lanes & ((1u << group) - 1) << first;
        /* Two neighbours that may go together do. */
        if (group < 32 && first / group % 2 == 0) {
            const uint32_t both = lanes & (group == 16 ? 0xffffffffu : 0xffffu << first);
            if (part && both != part && (partners_agree(offset, both, 1) || partners_agree(offset, both, 2))) {
                part = both;
                first += group;
            }
        }
        if (!part)
            continue;
        unsigned total = 0;
        sum.count += busiest(offset, part, words, banks, &total);
        sum.ideal += (total + 31) / 32;
    }
    return sum;
}
