/* SPDX-License-Identifier: MIT */
/* Any bytes as npy: a clean answer, or one sentence. */
#include "formats/readers.h"
#include "fuzz.h"

FUZZ_READER("npy", lli_npy_parse)
