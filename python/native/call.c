/* SPDX-License-Identifier: MIT */
/* Calls of the library from Python. A long call runs on a thread of its own that never touches Python. The calling thread wakes 20 times a
 * second, looks at signals, and hands on progress and sentences; what is raised there ends the call. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "native.h"

enum { WAKE_MS = 50 };

typedef struct said {
    struct said *next;
    bool warning;
    char sentence[];
} said;

typedef struct call {
    call_work *work;
    void *arguments;
    ll_context *ctx;
    PyObject *progress, *log; /* or None */
    /* under lock: */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done, moved;
    ll_status status;
    char what[64];
    double part, total;
    said *first, **last;
} call;

static void on_progress(void *user, const char *what, double part, double total) {
    call *c = user;
    pthread_mutex_lock(&c->lock);
    size_t length = strnlen(what, sizeof c->what - 1);
    memcpy(c->what, what, length);
    c->what[length] = 0;
    c->part = part;
    c->total = total;
    c->moved = true;
    pthread_mutex_unlock(&c->lock);
}

static void on_log(void *user, ll_log_level level, const char *sentence) {
    call *c = user;
    size_t size = strlen(sentence) + 1;
    said *one = malloc(sizeof *one + size);
    if (!one)
        return; /* a note is lost where memory has run out */
    one->next = NULL;
    one->warning = level == LL_LOG_WARNING;
    memcpy(one->sentence, sentence, size);
    pthread_mutex_lock(&c->lock);
    *c->last = one;
    c->last = &one->next;
    pthread_mutex_unlock(&c->lock);
}

static void *thread_main(void *user) {
    call *c = user;
    ll_status status = c->work(c->ctx, c->arguments);
    pthread_mutex_lock(&c->lock);
    c->done = true;
    c->status = status;
    pthread_cond_signal(&c->ended);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Everything said since the last time, in order; after an exception the rest is dropped. */
static int hand_on(call *c) {
    pthread_mutex_lock(&c->lock);
    said *first = c->first;
    c->first = NULL;
    c->last = &c->first;
    bool moved = c->moved;
    double part = c->part, total = c->total;
    char what[sizeof c->what];
    memcpy(what, c->what, sizeof what);
    c->moved = false;
    pthread_mutex_unlock(&c->lock);
    int status = 0;
    while (first) {
        said *one = first;
        first = one->next;
        if (status == 0 && c->log != Py_None) {
            PyObject *answer = PyObject_CallFunction(c->log, "Os", one->warning ? Py_True : Py_False, one->sentence);
            status = answer ? 0 : -1;
            Py_XDECREF(answer);
        }
        free(one);
    }
    if (status == 0 && moved && c->progress != Py_None) {
        PyObject *answer = PyObject_CallFunction(c->progress, "sdd", what, part, total);
        status = answer ? 0 : -1;
        Py_XDECREF(answer);
    }
    return status;
}

static bool wait_a_little(call *c) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += WAKE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&c->lock);
    while (!c->done && pthread_cond_timedwait(&c->ended, &c->lock, &until) == 0)
        ;
    bool done = c->done;
    pthread_mutex_unlock(&c->lock);
    return done;
}

/* Until the thread has ended. -1 where something was raised meanwhile. */
static int watch(call *c) {
    int status = 0;
    for (bool done = false; !done;) {
        Py_BEGIN_ALLOW_THREADS;
        done = wait_a_little(c);
        Py_END_ALLOW_THREADS;
        if (status == 0 && (PyErr_CheckSignals() != 0 || hand_on(c) != 0)) {
            status = -1;
            ll_context_cancel(c->ctx);
        }
    }
    return status;
}

int call_raise(ll_status status, const char *sentence) {
    PyObject *module = PyImport_ImportModule("lastlayer._errors");
    PyObject *exception = module ? PyObject_CallMethod(module, "exception", "ss", ll_status_name(status), sentence) : NULL;
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    Py_XDECREF(module);
    return -1;
}

static int run_thread(call *c) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, c) != 0)
        return call_raise(LL_ERR_MEMORY, "cannot start a thread for the call; ask for fewer with n_jobs");
    int status = watch(c);
    pthread_join(thread, NULL);
    if (status == 0)
        status = hand_on(c);
    if (status == 0 && c->status != LL_OK)
        status = call_raise(c->status, ll_context_message(c->ctx));
    return status;
}

int call_run(PyObject *how, call_work *work, void *arguments) {
    call c = {.work = work, .arguments = arguments, .last = &c.first};
    ll_context_options options = ll_context_options_default();
    long long memory;
    if (!PyArg_ParseTuple(how, "iLOO", &options.threads, &memory, &c.progress, &c.log))
        return -1;
    options.memory = memory;
    options.progress = on_progress;
    options.log = on_log;
    options.user = &c;
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.ended, &steady);
    pthread_condattr_destroy(&steady);
    ll_status made = ll_context_new(&c.ctx, &options);
    int status = made == LL_OK ? run_thread(&c) : call_raise(made, ll_context_message(c.ctx));
    ll_context_free(c.ctx);
    for (said *one = c.first, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    pthread_cond_destroy(&c.ended);
    pthread_mutex_destroy(&c.lock);
    return status;
}

int call_now(call_work *work, void *arguments) {
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    ll_context *ctx;
    ll_status status = ll_context_new(&ctx, &options);
    if (status == LL_OK)
        status = work(ctx, arguments);
    int result = status == LL_OK ? 0 : call_raise(status, ll_context_message(ctx));
    ll_context_free(ctx);
    return result;
}
