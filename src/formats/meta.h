/* SPDX-License-Identifier: MIT */
/* Metadata as a JSON object of texts: in the header of .safetensors, and as the comment of an .npz. */
#ifndef LLI_FORMATS_META_H
#define LLI_FORMATS_META_H

#include "base/bundle.h"
#include "base/text.h"
#include "formats/tree.h"

ll_status lli_meta_add(ll_context *ctx, ll_bundle *bundle, const lli_tree *object, const char *name) LL_CHECK_RESULT;
/* Text that is not a JSON object of texts is someone else's comment, and no failure. */
ll_status lli_meta_parse(ll_context *ctx, ll_bundle *bundle, const char *text, size_t size) LL_CHECK_RESULT;
void lli_meta_text(lli_text *out, const ll_meta *meta, int64_t count);

#endif
