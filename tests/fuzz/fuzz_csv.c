/* SPDX-License-Identifier: MIT */
/* Any bytes as csv: a clean answer, or one sentence. */
#include "fuzz.h"

FUZZ_TARGET("csv", lli_csv_parse)
