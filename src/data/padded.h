/* SPDX-License-Identifier: MIT */
/* A copy of the rows in the form the kernels compute with (kernels/kernels.h): f32, the bias column, padding, huge pages. A step then
 * reads its rows in place. The copy doubles the memory of the features, so it is made only if that is little. */
#ifndef LLI_DATA_PADDED_H
#define LLI_DATA_PADDED_H

#include "base/context.h"
#include "base/rows.h"

/* Sets *padded to the copy, or to NULL where memory is too small for it. */
ll_status lli_padded_new(ll_context *ctx, float **padded, /* [N,ld] */ const lli_rows *rows) LL_CHECK_RESULT;

#endif
