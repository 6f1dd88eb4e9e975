/* SPDX-License-Identifier: MIT */
/* Any bytes as npy: a clean answer, or one sentence. */
#include "fuzz.h"

FUZZ_TARGET("npy", lli_npy_parse)
