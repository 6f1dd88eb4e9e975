/* SPDX-License-Identifier: MIT */
/* Any bytes as idx.gz: a clean answer, or one sentence. */
#include "fuzz.h"

FUZZ_TARGET("idx_gz", lli_idx_gz_parse)
