/* SPDX-License-Identifier: MIT */
/* Images by name, from a folder, or from a file. */
#ifndef LLI_INTEROP_IMAGE_SOURCE_H
#define LLI_INTEROP_IMAGE_SOURCE_H

#include "data/images.h"

/* All classes, not yet sealed. Either part may be NULL, not both. */
typedef struct lli_image_source {
    ll_dataset *train, *test;
} lli_image_source;

ll_status lli_image_source_read(lli_image_source *out, ll_context *ctx, const char *data) LL_CHECK_RESULT;
void lli_image_source_release(lli_image_source *source);

#endif
