/* SPDX-License-Identifier: MIT */
/* Any bytes as safetensors: a clean answer, or one sentence. */
#include "fuzz.h"

FUZZ_TARGET("safetensors", lli_safetensors_parse)
