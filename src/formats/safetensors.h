/* SPDX-License-Identifier: MIT */
/* What the reader and the writer of .safetensors, and others who write its layout, share. */
#ifndef LLI_FORMATS_SAFETENSORS_H
#define LLI_FORMATS_SAFETENSORS_H

#include "base/text.h"

const char *lli_safetensors_code(ll_dtype dtype); /* "F32" */

/* The header, its 8 length bytes included, padded so that the data begin at a multiple of 64. `offsets` [count] receives where in the
 * file each array begins; `end` the size of the whole file. Only names, types and shapes of the arrays are read. */
ll_status lli_safetensors_header(lli_text *out, int64_t *offsets, int64_t *end, ll_context *ctx, const ll_named_array *arrays,
                                 int64_t count, const ll_meta *meta, int64_t meta_count) LL_CHECK_RESULT;

#endif
