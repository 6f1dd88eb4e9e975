/* SPDX-License-Identifier: MIT */
/* Any bytes as npz: a clean answer, or one sentence. */
#include "fuzz.h"

FUZZ_TARGET("npz", lli_npz_parse)
