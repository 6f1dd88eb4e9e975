/* SPDX-License-Identifier: MIT */
/* Contexts after a fork: the child has none of the parent's worker threads, and must neither wait for them nor need them. */
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { THREADS = 4, SECONDS = 60, HUNG = -1 };

static float z[GUEST_N * GUEST_D];
static int32_t y[GUEST_N];

static bool same(const ll_ensemble *a, const ll_ensemble *b) {
    ll_array x = ll_ensemble_weight_view(a), w = ll_ensemble_weight_view(b);
    return memcmp(x.data, w.data, (size_t)(x.shape[0] * x.shape[1] * x.shape[2]) * sizeof(float)) == 0;
}

/* Fits by a method whose members are tasks of their own. */
static ll_ensemble *fit(ll_context *ctx, const ll_dataset *data) {
    ll_fit_options o = ll_fit_options_default();
    o.method = "bootstrap";
    o.samples = 8;
    o.epochs = 2;
    ll_ensemble *ensemble;
    must(ll_fit(&ensemble, ctx, data, NULL, &o), ctx);
    return ensemble;
}

/* What the child does ends with exit code 0; one that hangs is ended after a minute. */
static int child_of(void (*work)(ll_context *, const ll_dataset *, const ll_ensemble *), ll_context *ctx, const ll_dataset *data,
                    const ll_ensemble *expected) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SECONDS);
        work(ctx, data, expected);
        _exit(0);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return HUNG;
    return WEXITSTATUS(status);
}

static void fits_and_frees(ll_context *ctx, const ll_dataset *data, const ll_ensemble *expected) {
    ll_ensemble *ensemble = fit(ctx, data);
    if (!same(ensemble, expected) || ll_context_threads(ctx) != 1)
        _exit(2);
    ll_ensemble_free(ensemble);
    ll_context_free(ctx);
}

static void only_frees(ll_context *ctx, const ll_dataset *data, const ll_ensemble *expected) {
    (void)data;
    (void)expected;
    ll_context_free(ctx);
}

static void makes_its_own(ll_context *ctx, const ll_dataset *data, const ll_ensemble *expected) {
    (void)ctx;
    ll_context *own = context_of(THREADS);
    ll_ensemble *ensemble = fit(own, data);
    if (!same(ensemble, expected) || ll_context_threads(own) != THREADS)
        _exit(2);
    ll_ensemble_free(ensemble);
    ll_context_free(own);
}

int main(void) {
    guest_rows(z, y);
    ll_context *ctx = context_of(THREADS);
    tap(child_of(only_frees, ctx, NULL, NULL) == 0, "a context that was just made is freed in a child", "the child did not end well");
    ll_dataset *data = guest_dataset(ctx, z, y);
    ll_ensemble *expected = fit(ctx, data);
    tap(child_of(fits_and_frees, ctx, data, expected) == 0, "a child fits with its parent's context, to the same bits", "it did not");
    tap(child_of(only_frees, ctx, data, expected) == 0, "a child frees a context that has worked", "the child did not end well");
    tap(child_of(makes_its_own, ctx, data, expected) == 0, "a child makes a context of its own, with threads", "it did not");
    ll_ensemble *again = fit(ctx, data);
    tap(same(again, expected) && ll_context_threads(ctx) == THREADS, "the parent goes on with all threads", "it did not");
    ll_ensemble_free(again);
    ll_ensemble_free(expected);
    ll_dataset_free(data);
    ll_context_free(ctx);
    return tap_end();
}
