/* SPDX-License-Identifier: MIT */
/* The tables that dispatch.c chooses from. */
#ifndef LLI_KERNELS_LEVELS_H
#define LLI_KERNELS_LEVELS_H

#include "kernels/kernels.h"

extern const lli_kernels lli_kernels_ref;

#endif
