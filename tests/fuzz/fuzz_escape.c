/* SPDX-License-Identifier: MIT */
/* Any text through the gate: what comes out is harmless, a JSON string is one that jansson reads as the same text, and what does not fit is
 * cut. */
#include <jansson.h>

#include "fuzz.h"

static void run(const uint8_t *bytes, size_t size) {
    char text[256], out[8 * sizeof text], cut[16];
    if (!fuzz_piece(text, sizeof text, &bytes, &size, 0))
        return;
    size_t length = ll_text_escape(out, sizeof out, text, LL_TEXT_PLAIN);
    if (length != strlen(out) || ll_text_escape(cut, sizeof cut, text, LL_TEXT_PLAIN) != length || strlen(cut) >= sizeof cut ||
        strncmp(out, cut, strlen(cut)) != 0)
        abort();
    fuzz_harmless(out, false);

    length = ll_text_escape(out, sizeof out, text, LL_TEXT_JSON);
    json_t *value = json_loadb(out, length, JSON_DECODE_ANY, NULL), *whole = json_string(text); /* NULL where the text is not UTF-8 */
    fuzz_harmless(out, false);
    if (!json_is_string(value) || (whole && !json_equal(value, whole)))
        abort();
    json_decref(value);
    json_decref(whole);
}

FUZZ_TARGET(run)
