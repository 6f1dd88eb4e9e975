/* SPDX-License-Identifier: MIT */
/* Any bytes as idx: a clean answer, or one sentence. */
#include "fuzz.h"

FUZZ_TARGET("idx", lli_idx_parse)
