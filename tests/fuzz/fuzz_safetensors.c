/* SPDX-License-Identifier: MIT */
/* Any bytes as safetensors: a clean answer, or one sentence. */
#include "formats/readers.h"
#include "fuzz.h"

FUZZ_READER("safetensors", lli_safetensors_parse)
