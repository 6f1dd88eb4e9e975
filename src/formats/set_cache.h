/* SPDX-License-Identifier: MIT */
/* What was found in a set of files, remembered for the next command: a small file under $XDG_CACHE_HOME/lastlayer (else ~/.cache), named by
 * the key of the set (row_files.h). It saves a pass over the features. No failure: without the file, or without a place for it, the pass
 * is made. */
#ifndef LLI_FORMATS_SET_CACHE_H
#define LLI_FORMATS_SET_CACHE_H

#include "base/hash.h"
#include "base/context.h"

bool lli_set_cache_get(ll_context *ctx, const char *key, char hash[LLI_HASH_TEXT], double *mean_square);
void lli_set_cache_put(ll_context *ctx, const char *key, const char *hash, double mean_square);

#endif
