/* SPDX-License-Identifier: MIT */
/* Numbers to text and back. The C library does the hard cases, with its decimal point translated. */
#include "formats/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { DIGITS_MAX = 800 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* nan, inf, infinity in any case. */
static bool parse_word(double *out, const char *p, const char *end) {
    static const char *const words[] = {"nan", "inf", "infinity"};
    for (size_t i = 0; i < LLI_COUNT(words); i++) {
        const char *w = words[i], *q = p;
        while (q < end && *w && (*q | 32) == *w)
            q++, w++;
        if (q == end && !*w) {
            *out = i == 0 ? (double)NAN : (double)INFINITY;
            return true;
        }
    }
    return false;
}

/* The current locale's decimal point, which need not be one byte. */
static size_t decimal_point(char out[16]) {
    char half[16];
    int length = snprintf(half, sizeof half, "%.1f", 0.5); /* 0 point 5 */
    size_t size = (size_t)LLI_MAX(length - 2, 1);
    memcpy(out, half + 1, size);
    out[size] = 0;
    return size;
}

static double parse_slow(const char *text, size_t size) {
    char copy[DIGITS_MAX + 24], point[16];
    size_t length = 0, width = decimal_point(point);
    for (size_t i = 0; i < size; i++)
        if (text[i] == '.') {
            memcpy(copy + length, point, width);
            length += width;
        } else {
            copy[length++] = text[i];
        }
    copy[length] = 0;
    return strtod(copy, NULL);
}

/* digits * 10^power is exact when both fit f64: then one rounding gives the nearest (Clinger). */
static bool parse_fast(double *out, uint64_t digits, int64_t power) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits > (uint64_t)1 << 53 || power < -22 || power > 22)
        return false;
    *out = power < 0 ? (double)digits / tens[-power] : (double)digits * tens[power];
    return true;
}

bool lli_number_parse(lli_number *out, const char *text, size_t size) {
    const char *p = text, *end = text + size;
    *out = (lli_number){0};
    if (size == 0 || size > DIGITS_MAX)
        return false;
    bool negative = *p == '-', exact = true, some = false, integer = true;
    p += *p == '-' || *p == '+';
    if (parse_word(&out->real, p, end)) {
        out->real = negative ? -out->real : out->real;
        return true;
    }
    uint64_t digits = 0;
    int64_t power = 0;
    for (bool after = false; p < end && (is_digit(*p) || (*p == '.' && !after)); p++) {
        if (*p == '.') {
            after = true;
            integer = false;
            continue;
        }
        some = true;
        exact &= digits <= (UINT64_MAX - 9) / 10;
        digits = exact ? 10 * digits + (uint64_t)(*p - '0') : digits;
        power -= after;
    }
    if (some && p < end && (*p == 'e' || *p == 'E')) {
        integer = false;
        p++;
        bool down = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        some = p < end;
        int64_t e = 0;
        for (; p < end && is_digit(*p); p++)
            e = LLI_MIN(10 * e + (*p - '0'), 100000);
        power += down ? -e : e;
    }
    if (!some || p < end)
        return false;
    if (exact && parse_fast(&out->real, digits, power))
        out->real = negative ? -out->real : out->real;
    else
        out->real = parse_slow(text, size);
    out->beyond = isinf(out->real);
    out->is_integer = integer && exact && digits <= (uint64_t)INT64_MAX;
    if (out->is_integer)
        out->integer = negative ? -(int64_t)digits : (int64_t)digits;
    return true;
}

int lli_number_text(char out[LLI_NUMBER_TEXT], double x, bool is_f32) {
    char text[LLI_NUMBER_TEXT] = "nan", point[16];
    int low = is_f32 ? 6 : 15, high = is_f32 ? 9 : 17;
    for (int precision = low; precision <= high && !isnan(x); precision++) {
        snprintf(text, sizeof text, "%.*g", precision, x);
        double back = strtod(text, NULL);
        if (is_f32 ? (float)back == (float)x : back == x)
            break;
    }
    size_t width = decimal_point(point), length = strlen(text);
    char *at = strstr(text, point);
    if (at) {
        *at = '.';
        memmove(at + 1, at + width, strlen(at + width) + 1);
        length -= width - 1;
    }
    memcpy(out, text, length + 1);
    return (int)length;
}

int lli_number_integer(char out[24], int64_t x) {
    return snprintf(out, 24, "%" PRId64, x);
}
