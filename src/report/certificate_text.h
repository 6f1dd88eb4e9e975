/* SPDX-License-Identifier: MIT */
/* A certificate in words, and as JSON. */
#ifndef LLI_REPORT_CERTIFICATE_TEXT_H
#define LLI_REPORT_CERTIFICATE_TEXT_H

#include "base/text.h"
#include "metrics/certificate.h"

extern const char lli_certificate_text_conditions[]; /* when the promise holds */
void lli_certificate_text_statement(lli_text *out, const ll_certificate *certificate);
void lli_certificate_json_add(lli_text *out, const ll_certificate *certificate);

/* The promise, to free with ll_text_free. */
ll_status lli_certificate_text_promise(char **out, ll_context *ctx, const ll_certificate *certificate) LL_CHECK_RESULT;

#endif
