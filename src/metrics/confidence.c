/* SPDX-License-Identifier: MIT */
/* The confidences by name. How they are computed is the business of predict. */
#include "base/status.h"

static const struct {
    const char *name;
    bool members;
} table[LL_CONFIDENCE_COUNT] = {
    [LL_CONFIDENCE_SR] = {"sr", false},         [LL_CONFIDENCE_STD] = {"std", true}, [LL_CONFIDENCE_HQ] = {"hq", true},
    [LL_CONFIDENCE_MAXMIN] = {"maxmin", true},  [LL_CONFIDENCE_ENTROPY] = {"entropy", false},
    [LL_CONFIDENCE_MI] = {"mi", true},          [LL_CONFIDENCE_MARGIN] = {"margin", false},
};

const char *ll_confidence_name(ll_confidence c) {
    return (unsigned)c < LL_CONFIDENCE_COUNT ? table[c].name : "unknown";
}

bool ll_confidence_needs_members(ll_confidence c) {
    return (unsigned)c < LL_CONFIDENCE_COUNT && table[c].members;
}
