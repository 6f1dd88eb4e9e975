/* SPDX-License-Identifier: MIT */
/* Decimal numbers of .csv files, the same in every locale. */
#ifndef LLI_FORMATS_NUMBER_H
#define LLI_FORMATS_NUMBER_H

#include "lastlayer.h"

typedef struct lli_number {
    double real;     /* nearest */
    int64_t integer; /* where is_integer: written without point and exponent, and within i64 */
    bool is_integer;
    bool beyond; /* written in digits, and too large for f64: real is infinite */
} lli_number;

/* The whole text must be a number: [+-]digits[.digits][e[+-]digits], nan or inf. */
bool lli_number_parse(lli_number *out, const char *text, size_t size);

enum { LLI_NUMBER_TEXT = 40 };
/* Fewest digits that read back as the same f64, or as the same f32 if x is one; returns the length. */
int lli_number_text(char out[LLI_NUMBER_TEXT], double x, bool is_f32);
int lli_number_integer(char out[24], int64_t x);

#endif
