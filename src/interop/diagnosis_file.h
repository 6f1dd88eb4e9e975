/* SPDX-License-Identifier: MIT */
/* What lastlayer diagnose --json printed: the summary, and the draws of a few rows. */
#ifndef LLI_INTEROP_DIAGNOSIS_FILE_H
#define LLI_INTEROP_DIAGNOSIS_FILE_H

#include "metrics/diagnosis.h"

/* Of `json`, a text in the file `path`; NULL: the file is the JSON. *out is NULL where the JSON is something else; LL_ERR_FORMAT where it
 * is a diagnosis that cannot be. */
ll_status lli_diagnosis_file_read(lli_diagnosis_traces **out, ll_context *ctx, const char *path, const char *json) LL_CHECK_RESULT;
void lli_diagnosis_file_free(lli_diagnosis_traces *traces);

#endif
