/* SPDX-License-Identifier: MIT */
/* Any bytes as cifar: a clean answer, or one sentence. */
#include "fuzz.h"

FUZZ_TARGET("cifar", lli_cifar_parse)
