/* SPDX-License-Identifier: MIT */
/* The figure of members one by one; it shows thumbnails, so it asks for them. */
#ifndef LLI_REPORT_MEMBERS_H
#define LLI_REPORT_MEMBERS_H

#include "report/thumbs.h"

void lli_members_figure(lli_text *out, const lli_view *view, lli_thumbs *thumbs);

#endif
