/* SPDX-License-Identifier: MIT */
/* Points worth looking at: the errors made with most confidence, and the points that a cut rejects first. */
#ifndef LLI_REPORT_GALLERY_H
#define LLI_REPORT_GALLERY_H

#include "report/thumbs.h"

enum { LLI_GALLERY_POINTS = 12, LLI_GALLERY_TOP = 3 };

typedef enum lli_gallery_kind { LLI_GALLERY_ERRORS, LLI_GALLERY_REJECTED, LLI_GALLERY_KINDS } lli_gallery_kind;

typedef struct lli_gallery {
    int64_t row[LLI_GALLERY_KINDS][LLI_GALLERY_POINTS];
    int64_t count[LLI_GALLERY_KINDS];
} lli_gallery;

ll_status lli_gallery_init(lli_gallery *gallery, ll_context *ctx, const lli_view *view, int64_t method, ll_confidence by) LL_CHECK_RESULT;

/* The most probable classes of a point, at most LLI_GALLERY_TOP; none without probabilities. Returns how many. */
int64_t lli_gallery_top(int64_t top[LLI_GALLERY_TOP], double p[LLI_GALLERY_TOP], const ll_outcome *points, int64_t row);

/* One <li>, as the script of the page writes them too. */
void lli_gallery_item(lli_text *out, const lli_view *view, lli_thumbs *thumbs, int64_t method, ll_confidence by, int64_t row,
                      int64_t kept_from);

#endif
