/* SPDX-License-Identifier: MIT */
/* Small pictures of points, each on the page once and shown wherever it is wanted by <use href="#tN">. */
#ifndef LLI_REPORT_THUMBS_H
#define LLI_REPORT_THUMBS_H

#include "report/view.h"

enum { LLI_THUMB_SIDE = 32, LLI_THUMBS_BYTES = 140000 };

typedef struct lli_thumbs {
    ll_array images;                         /* u8 [N,H,W] or [N,H,W,3]; data NULL = none */
    int64_t width, height, channels, shrink; /* of a thumbnail; `shrink` pixels of a side become one */
    const int64_t *image;                    /* [N points] which image is that of a point; NULL: the one of the same number */
    int64_t *row;                            /* [count] that each shows */
    int64_t count, capacity;                 /* how many there are, and may be */
} lli_thumbs;

ll_status lli_thumbs_init(lli_thumbs *thumbs, ll_context *ctx, const lli_page *page) LL_CHECK_RESULT;
void lli_thumbs_release(lli_thumbs *thumbs);
/* Number of the thumbnail of this row; -1 when there are no images or no more room: who asks first is served. */
int64_t lli_thumbs_want(lli_thumbs *thumbs, int64_t row);
/* The definitions, once per page. */
ll_status lli_thumbs_write(lli_text *out, const lli_thumbs *thumbs) LL_CHECK_RESULT;
/* <svg> that shows one. */
void lli_thumbs_show(lli_text *out, const lli_thumbs *thumbs, int64_t thumb);

#endif
