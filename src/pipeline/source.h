/* SPDX-License-Identifier: MIT */
/* Images by name, from a folder, or from a file. */
#ifndef LLI_PIPELINE_SOURCE_H
#define LLI_PIPELINE_SOURCE_H

#include "data/images.h"

/* All classes, not yet sealed. Either part may be NULL, not both. */
typedef struct lli_source {
    ll_dataset *train, *test;
} lli_source;

ll_status lli_source_read(lli_source *out, ll_context *ctx, const char *data) LL_CHECK_RESULT;
void lli_source_release(lli_source *source);

#endif
