/* SPDX-License-Identifier: MIT */
/* Any text as a number: accepted ones must be what the C library reads, and must survive being written. */
#include <math.h>

#include "formats/number.h"
#include "fuzz.h"

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static void run(const uint8_t *bytes, size_t size) {
    char text[400], again[LLI_NUMBER_TEXT];
    lli_number x, y;
    if (size >= sizeof text || !lli_number_parse(&x, (const char *)bytes, size))
        return;
    memcpy(text, bytes, size);
    text[size] = 0;
    if (!same(x.real, strtod(text, NULL)))
        abort();
    if (x.is_integer && x.integer != strtoll(text, NULL, 10))
        abort();
    size_t length = (size_t)lli_number_text(again, x.real, false);
    if (length >= sizeof again || !lli_number_parse(&y, again, length) || !same(x.real, y.real))
        abort();
}

FUZZ_TARGET(run)
