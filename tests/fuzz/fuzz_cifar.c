/* SPDX-License-Identifier: MIT */
/* Any bytes as cifar: a clean answer, or one sentence. */
#include "formats/readers.h"
#include "fuzz.h"

FUZZ_READER("cifar", lli_cifar_parse)
