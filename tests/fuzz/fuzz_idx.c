/* SPDX-License-Identifier: MIT */
/* Any bytes as idx: a clean answer, or one sentence. */
#include "formats/readers.h"
#include "fuzz.h"

FUZZ_READER("idx", lli_idx_parse)
