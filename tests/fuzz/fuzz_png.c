/* SPDX-License-Identifier: MIT */
/* Any bytes as png: a clean answer, or one sentence. */
#include "fuzz.h"

FUZZ_TARGET("png", lli_png_parse)
