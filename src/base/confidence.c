/* SPDX-License-Identifier: MIT */
/* The names of the confidence functions. */
#include <string.h>

#include "lastlayer.h"

const char *ll_confidence_name(ll_confidence c) {
    static const char *const names[] = {"sr",     "std",      "hq",  "maxmin", "entropy", "mi",     "margin", "msp",
                                        "energy", "maxlogit", "mds", "mds++",  "rmds",    "rmds++", "knn",    "vim"};
    return c >= 0 && c < LL_CONFIDENCE_COUNT ? names[c] : "none";
}

ll_confidence ll_confidence_find(const char *name) {
    ll_confidence c = name ? 0 : LL_CONFIDENCE_COUNT;
    while (c < LL_CONFIDENCE_COUNT && strcmp(ll_confidence_name(c), name) != 0)
        c++;
    return c;
}

bool ll_confidence_needs_members(ll_confidence c) {
    return c == LL_CONFIDENCE_STD || c == LL_CONFIDENCE_HQ || c == LL_CONFIDENCE_MAXMIN || c == LL_CONFIDENCE_MI;
}

bool ll_confidence_needs_scores(ll_confidence c) {
    return c >= LL_CONFIDENCE_MSP && c < LL_CONFIDENCE_COUNT;
}
