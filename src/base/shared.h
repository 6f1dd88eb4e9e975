/* SPDX-License-Identifier: MIT */
/* What a context and the child contexts of its workers have in common. Only base includes this header. */
#ifndef LLI_BASE_SHARED_H
#define LLI_BASE_SHARED_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/context.h"
#include "base/team.h"

struct lli_shared {
    pthread_mutex_t lock; /* of the callbacks */
    void (*progress)(void *user, const char *what, double done, double total);
    void (*log)(void *user, ll_log_level level, const char *sentence);
    void *user;
    lli_team alone; /* the team of a context that joins no other */
    ll_option_style option_style;
    _Atomic bool cancel;
    _Atomic double reported; /* time of the last progress report */
    _Atomic int64_t allocations;
    _Atomic int64_t fail_at; /* allocations until one fails; 0 = never */
};

#endif
