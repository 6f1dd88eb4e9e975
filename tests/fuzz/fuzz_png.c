/* SPDX-License-Identifier: MIT */
/* Any bytes as png: a clean answer, or one sentence. */
#include "formats/readers.h"
#include "fuzz.h"

FUZZ_READER("png", lli_png_parse)
