/* SPDX-License-Identifier: MIT */
/* A context whose notes and warnings the test hears. */
#ifndef LL_TESTS_HEARD_H
#define LL_TESTS_HEARD_H

#include "check.h"

typedef struct heard {
    int notes, warnings;
    char last[2000];
    char text[8000]; /* all of them, a line each */
} heard;

static inline void heard_log(void *user, ll_log_level level, const char *sentence) {
    heard *h = user;
    size_t used = strlen(h->text);
    h->notes += level == LL_LOG_NOTE;
    h->warnings += level == LL_LOG_WARNING;
    snprintf(h->last, sizeof h->last, "%s", sentence);
    snprintf(h->text + used, sizeof h->text - used, "%s\n", sentence);
}

static inline ll_context *heard_context(heard *h) {
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    options.log = heard_log;
    options.user = h;
    *h = (heard){0};
    ll_context *ctx;
    assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
    return ctx;
}

#endif
