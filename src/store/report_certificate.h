/* SPDX-License-Identifier: MIT */
/* The JSON of lastlayer certify, for the page. */
#ifndef LLI_STORE_REPORT_CERTIFICATE_H
#define LLI_STORE_REPORT_CERTIFICATE_H

#include "formats/tree.h"
#include "report/page.h"

typedef struct lli_report_certificate {
    lli_page_certificate shown; /* its texts and cuts are those below */
    lli_tree *tree;
    char *text;
    lli_page_class_cut *class_cut;
} lli_report_certificate;

/* LL_ERR_FORMAT where the file is no certificate. */
ll_status lli_report_certificate_read(lli_report_certificate *out, ll_context *ctx, const char *path) LL_CHECK_RESULT;
void lli_report_certificate_release(lli_report_certificate *certificate);

#endif
