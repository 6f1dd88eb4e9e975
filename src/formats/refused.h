/* SPDX-License-Identifier: MIT */
/* What is told about files that are not read. Each is a reader (formats/readers.h) that always fails, but for the first. */
#ifndef LLI_FORMATS_REFUSED_H
#define LLI_FORMATS_REFUSED_H

#include "base/bundle.h"

ll_status lli_refused_torch(ll_context *ctx, const char *name); /* a file of PyTorch */
/* Any pickle: of PyTorch, joblib, scikit-learn. */
ll_status lli_refused_pickle(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name);
ll_status lli_refused_onnx(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name);
ll_status lli_refused_parquet(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name);

#endif
