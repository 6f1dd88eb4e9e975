/* SPDX-License-Identifier: MIT */
/* Any bytes as idx.gz: a clean answer, or one sentence. */
#include "formats/readers.h"
#include "fuzz.h"

FUZZ_READER("idx_gz", lli_idx_gz_parse)
