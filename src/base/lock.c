/* SPDX-License-Identifier: MIT */
/* A lock, on the heap like everything that is shared. */
#include "base/lock.h"

#include <pthread.h>

#include "base/memory.h"

struct lli_lock {
    pthread_mutex_t mutex;
};

ll_status lli_lock_new(lli_lock **out, ll_context *ctx) {
    LLI_TRY(lli_memory_new(ctx, out, 1, sizeof **out));
    pthread_mutex_init(&(*out)->mutex, NULL);
    return LL_OK;
}

void lli_lock_free(lli_lock *lock) {
    if (lock)
        pthread_mutex_destroy(&lock->mutex);
    lli_memory_free(lock);
}

void lli_lock_take(lli_lock *lock) {
    pthread_mutex_lock(&lock->mutex);
}

void lli_lock_give(lli_lock *lock) {
    pthread_mutex_unlock(&lock->mutex);
}
