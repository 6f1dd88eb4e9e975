/* SPDX-License-Identifier: MIT */
/* All foreign text goes through here: the result can neither control a terminal nor forge a line or a JSON value. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"

/* Length of the well-formed UTF-8 sequence at s, 0 if there is none. */
static size_t utf8_length(const unsigned char *s) {
    if (s[0] < 0x80)
        return 1;
    size_t length = s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] >= 0xa0, beyond = s[0] == 0xf4 && s[1] >= 0x90;
    return length && (overlong || surrogate || beyond) ? 0 : length;
}

static uint32_t code_point(const unsigned char *s, size_t length) {
    uint32_t code = length == 1 ? s[0] : s[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (s[i] & 0x3f);
    return code;
}

/* Control characters (C0, DEL, C1), separators of lines and paragraphs, and characters that change the direction of writing. */
static bool is_harmful(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

enum { PIECE_MAX = 8 };

/* The character at s as it may be printed; *used = its bytes in s. */
static size_t escape_one(char out[PIECE_MAX], size_t *used, const unsigned char *s, bool json) {
    size_t length = utf8_length(s);
    *used = length ? length : 1;
    uint32_t code = length ? code_point(s, length) : s[0];
    const char *short_form = code == '\n' ? "\\n" : code == '\t' ? "\\t" : code == '\r' ? "\\r" : NULL;
    if (!length)
        return (size_t)(json ? snprintf(out, PIECE_MAX, "\xef\xbf\xbd") : snprintf(out, PIECE_MAX, "\\x%02x", code));
    if (json && (code == '"' || code == '\\'))
        return (size_t)snprintf(out, PIECE_MAX, "\\%c", (char)code);
    if (!is_harmful(code)) {
        memcpy(out, s, length);
        return length;
    }
    if (!json && short_form)
        return (size_t)snprintf(out, PIECE_MAX, "%s", short_form);
    return (size_t)snprintf(out, PIECE_MAX, json || code >= 0x80 ? "\\u%04x" : "\\x%02x", code);
}

/* How many characters from s on stand for themselves in every form. */
static size_t plain_length(const unsigned char *s) {
    size_t length = 0;
    while (s[length] >= 0x20 && s[length] < 0x7f && s[length] != '"' && s[length] != '\\')
        length++;
    return length;
}

/* Whole pieces only: a text that does not fit ends before one. */
static void put(char *out, size_t size, size_t *total, bool *full, const char *piece, size_t length) {
    *full = *full || *total + length >= size;
    if (!*full) {
        memcpy(out + *total, piece, length);
        out[*total + length] = 0;
    }
    *total += length;
}

size_t ll_text_escape(char *out, size_t size, const char *text, ll_text_form form) {
    bool json = form == LL_TEXT_JSON, full = false;
    size_t total = 0;
    if (size > 0)
        out[0] = 0;
    if (json)
        put(out, size, &total, &full, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)(text ? text : ""); *s;) {
        char piece[PIECE_MAX];
        size_t used = plain_length(s), length;
        if (used && (size == 0 || total + used < size)) {
            put(out, size, &total, &full, (const char *)s, used);
            s += used;
            continue;
        }
        length = escape_one(piece, &used, s, json);
        put(out, size, &total, &full, piece, length);
        s += used;
    }
    if (json)
        put(out, size, &total, &full, "\"", 1);
    return total;
}
