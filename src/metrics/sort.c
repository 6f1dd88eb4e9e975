/* SPDX-License-Identifier: MIT */
/* Radix sort, eight passes of one byte each; a byte that all keys share costs no pass. A handful of items is sorted by insertion. */
#include "metrics/sort.h"

#include <stdbool.h>
#include <string.h>

enum { BYTES = 8, VALUES = 256, FEW = 48 };

/* A whole number that falls as the double rises. IEEE doubles of one sign are ordered like their bits, negative ones the other way
 * round; adding zero turns -0 into +0. */
static uint64_t rank(double key) {
    double x = key + 0.0;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t rising = bits >> 63 ? ~bits : bits | (UINT64_C(1) << 63);
    return ~rising;
}

static int byte_of(double key, int byte) {
    return (int)(rank(key) >> (8 * byte) & 0xff);
}

static void sort_few(lli_sort_item *items, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        lli_sort_item item = items[i];
        int64_t j = i;
        for (; j > 0 && items[j - 1].key < item.key; j--)
            items[j] = items[j - 1];
        items[j] = item;
    }
}

void lli_sort_descending(lli_sort_item *items, lli_sort_item *scratch, int64_t n) {
    if (n <= FEW) {
        sort_few(items, n);
        return;
    }
    int64_t count[BYTES][VALUES] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int byte = 0; byte < BYTES; byte++)
            count[byte][byte_of(items[i].key, byte)]++;
    lli_sort_item *from = items, *to = scratch;
    for (int byte = 0; byte < BYTES && n > 0; byte++) {
        bool shared = count[byte][byte_of(items[0].key, byte)] == n;
        if (shared)
            continue;
        int64_t start = 0;
        for (int value = 0; value < VALUES; value++) {
            int64_t here = count[byte][value];
            count[byte][value] = start;
            start += here;
        }
        for (int64_t i = 0; i < n; i++)
            to[count[byte][byte_of(from[i].key, byte)]++] = from[i];
        lli_sort_item *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, (size_t)n * sizeof *items);
}
