/* SPDX-License-Identifier: MIT */
/* A lock for the few things that workers share and that are not counters. */
#ifndef LLI_BASE_LOCK_H
#define LLI_BASE_LOCK_H

#include "base/context.h"

typedef struct lli_lock lli_lock;

ll_status lli_lock_new(lli_lock **out, ll_context *ctx) LL_CHECK_RESULT;
void lli_lock_free(lli_lock *lock); /* NULL is fine */
void lli_lock_take(lli_lock *lock);
void lli_lock_give(lli_lock *lock);

#endif
