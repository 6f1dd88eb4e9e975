/* SPDX-License-Identifier: MIT */
/* Any bytes as csv: a clean answer, or one sentence. */
#include "formats/readers.h"
#include "fuzz.h"

FUZZ_READER("csv", lli_csv_parse)
