/* SPDX-License-Identifier: MIT */
/* The certificate of the first method in words; nothing where there is none. */
#ifndef LLI_REPORT_CERTIFICATE_CARD_H
#define LLI_REPORT_CERTIFICATE_CARD_H

#include "report/view.h"

void lli_certificate_card_html(lli_text *out, const lli_view *view);
void lli_certificate_card_data(lli_text *out, const lli_view *view); /* a member of the script's data */

#endif
