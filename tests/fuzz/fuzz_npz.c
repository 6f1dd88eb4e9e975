/* SPDX-License-Identifier: MIT */
/* Any bytes as npz: a clean answer, or one sentence. */
#include "formats/readers.h"
#include "fuzz.h"

FUZZ_READER("npz", lli_npz_parse)
