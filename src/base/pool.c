/* SPDX-License-Identifier: MIT */
/* Workers sleep until a run starts, then take task numbers from one counter. The calling thread is worker 0. */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct worker {
    struct lli_pool *pool;
    int number;
    pthread_t thread;
};

struct lli_pool {
    int workers;         /* the caller included */
    pid_t home;          /* the process that has the threads: a fork does not copy them, nor is the lock of any use there */
    struct worker *team; /* [workers], the first unused */
    int started;
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    uint64_t round; /* counts runs, so that a worker joins each once */
    int busy;
    bool stop;
    /* the run under way */
    ll_context *ctx;
    lli_task *task;
    void *arg;
    int64_t count;
    _Atomic int64_t next;
    int64_t failed_task; /* lowest index that failed, or -1; under lock */
    ll_status failed_status;
    char failed_message[LLI_MESSAGE_MAX];
};

static void record_failure(struct lli_pool *pool, int64_t task, ll_status status, const char *message) {
    pthread_mutex_lock(&pool->lock);
    if (pool->failed_task < 0 || task < pool->failed_task) {
        pool->failed_task = task;
        pool->failed_status = status;
        memcpy(pool->failed_message, message, sizeof pool->failed_message);
    }
    pthread_mutex_unlock(&pool->lock);
    atomic_store(&pool->next, pool->count); /* every lower index has been started already, so the lowest failure is found */
}

static void take_tasks(struct lli_pool *pool, int worker) {
    ll_context child;
    lli_context_child(&child, pool->ctx);
    for (;;) {
        int64_t task = atomic_fetch_add(&pool->next, 1);
        if (task >= pool->count)
            return;
        ll_status status = pool->task(&child, pool->arg, task, worker);
        if (status != LL_OK)
            record_failure(pool, task, status, child.message);
    }
}

static void *worker_main(void *self_) {
    const struct worker *self = self_;
    struct lli_pool *pool = self->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && pool->round == seen)
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->round;
        pthread_mutex_unlock(&pool->lock);
        take_tasks(pool, self->number);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->idle);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

ll_status lli_pool_new(struct lli_pool **out, int workers) {
    *out = NULL;
    struct lli_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return LL_ERR_MEMORY;
    pool->workers = workers;
    pool->home = getpid();
    pool->team = calloc((size_t)workers, sizeof *pool->team);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->idle, NULL);
    if (!pool->team)
        goto failed;
    for (int w = 1; w < workers; w++) {
        pool->team[w] = (struct worker){.pool = pool, .number = w};
        if (pthread_create(&pool->team[w].thread, NULL, worker_main, &pool->team[w]) != 0)
            goto failed;
        pool->started = w;
    }
    *out = pool;
    return LL_OK;
failed:
    lli_pool_free(pool);
    return LL_ERR_MEMORY;
}

/* Ends the threads, in the process that has them: any other process would wait for ever. */
static void stop(struct lli_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int w = 1; w <= pool->started; w++)
        pthread_join(pool->team[w].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->idle);
    pthread_mutex_destroy(&pool->lock);
}

void lli_pool_free(struct lli_pool *pool) {
    if (!pool)
        return;
    if (pool->home == getpid())
        stop(pool);
    free(pool->team);
    free(pool);
}

int lli_pool_workers(const ll_context *ctx) {
    return ctx->pool && ctx->pool->home == getpid() ? ctx->pool->workers : 1;
}

static ll_status run_inline(ll_context *ctx, lli_task *task, void *arg, int64_t count) {
    ll_context child;
    lli_context_child(&child, ctx);
    if (count == 1)
        child.pool = ctx->pool; /* no other task is running: a run inside the only task may use all workers */
    for (int64_t i = 0; i < count; i++) {
        ll_status status = task(&child, arg, i, 0);
        if (status != LL_OK) {
            memcpy(ctx->message, child.message, sizeof ctx->message);
            return status;
        }
    }
    return LL_OK;
}

ll_status lli_pool_run(ll_context *ctx, lli_task *task, void *arg, int64_t count) {
    struct lli_pool *pool = ctx->pool;
    if (count <= 1 || lli_pool_workers(ctx) == 1)
        return run_inline(ctx, task, arg, count);
    pthread_mutex_lock(&pool->lock);
    pool->ctx = ctx;
    pool->task = task;
    pool->arg = arg;
    pool->count = count;
    atomic_store(&pool->next, 0);
    pool->failed_task = -1;
    pool->busy = pool->workers - 1;
    pool->round++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);

    take_tasks(pool, 0);

    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->idle, &pool->lock);
    ll_status status = LL_OK;
    if (pool->failed_task >= 0) {
        status = pool->failed_status;
        memcpy(ctx->message, pool->failed_message, sizeof ctx->message);
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}
