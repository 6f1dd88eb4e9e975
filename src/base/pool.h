/* SPDX-License-Identifier: MIT */
/* A thread pool for indexed, independent tasks. Work is cut by problem size, never by the number of threads, so results do not
 * depend on it. In a child of fork, which has no workers, all runs on the calling thread. */
#ifndef LLI_BASE_POOL_H
#define LLI_BASE_POOL_H

#include "base/context.h"

/* `worker` < lli_pool_workers(ctx) names the workspace a task may use: no two running tasks share one. */
typedef ll_status lli_task(ll_context *ctx, void *arg, int64_t task, int worker);

/* Runs tasks 0..count-1, starting them in order. After a failure no later task starts; of several failures the lowest index is
 * reported, with its sentence. Inside a task it runs the inner tasks in order on the same thread, as worker 0; inside the only task of a
 * run, as if that run were not there. */
ll_status lli_pool_run(ll_context *ctx, lli_task *task, void *arg, int64_t count) LL_CHECK_RESULT;
int lli_pool_workers(const ll_context *ctx);

ll_status lli_pool_new(struct lli_pool **out, int workers) LL_CHECK_RESULT;
void lli_pool_free(struct lli_pool *pool);

#endif
