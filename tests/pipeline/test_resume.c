/* SPDX-License-Identifier: MIT */
/* A run that was interrupted anywhere, any number of times, or whose journal was torn, ends in the bytes of one that was not.
 * The clock is this test's own: it goes on by a second per step, so that each sample finds the last checkpoint old. */
#include <math.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "capability.h"
#include "check.h"
#include "folder.h"
#include "methods/chains.h"
#include "pipeline/found_theta.h"
#include "problem.h"
#include "store/partial.h"

double __wrap_lli_clock_seconds(void);

static _Atomic int seconds = 1000;

double __wrap_lli_clock_seconds(void) {
    return seconds;
}

typedef struct cut {
    ll_context *ctx;
    double after;       /* steps; < 0 = never */
    double done, total; /* of the last report */
} cut;

static void on_progress(void *user, const char *what, double done, double total) {
    cut *c = user;
    if (strncmp(what, "checking", 8) == 0)
        return; /* a look at what is done */
    seconds++;
    c->done = done;
    c->total = total;
    if (total > 2 && c->after >= 0 && done >= c->after)
        ll_context_cancel(c->ctx);
}

static ll_context *cut_context(cut *c, int threads, double after) {
    ll_context_options options = ll_context_options_default();
    options.threads = threads;
    options.progress = on_progress;
    options.user = c;
    assert_int_equal(ll_context_new(&c->ctx, &options), LL_OK);
    c->after = after;
    seconds++;
    return c->ctx;
}

typedef struct scene {
    ll_context *ctx;
    problem p;
    ll_fit_options o;
    int64_t steps;  /* of the whole run */
    int64_t stride; /* between cuts */
    folder_bytes whole;
    ll_network *network; /* NULL: a head */
} scene;

typedef struct subject {
    const char *method;
    bool network;
    const char *shuffle; /* NULL: full */
    int64_t chains;      /* 0: one */
    bool metric;         /* preconditioned, with control variates */
    int64_t steps;       /* 0: those of the other methods of its kind */
} subject;

static const subject subjects[] = {
    {"sgd", false, NULL},
    {"sgld", false, NULL},
    {"bootstrap", false, NULL},
    {"dropout", false, NULL},
    {"sgld", true, NULL},
    {"bootstrap", true, NULL},
    {"dropout", true, NULL},
    {"ensemble", true, NULL},
    {"sgld", false, "independent"},
    {"bootstrap", false, "independent"},
    {"sgld", true, "independent"},
    {"sgld", false, NULL, 3},
    {"sghmc", false, NULL},
    {"sgld", false, NULL, 0, true},
    {"swag", false, NULL, 0, false, 12},
    {"cyclical", false, NULL, 0, false, 2 * 30 + 30},
    {"psgld", true, NULL, 0, false, 2 * 4 + 6 * 3},
};

static ll_status fit_write(const scene *s, ll_context *ctx, const char *name, bool resume) {
    return s->network ? ll_fit_network_write(NULL, ctx, folder_path(name), s->p.data, s->network, &s->o, resume)
                      : ll_fit_write(NULL, ctx, folder_path(name), s->p.data, s->p.head, &s->o, resume);
}

static void scene_init(scene *s, const subject *given) {
    const char *method = given->method;
    *s = (scene){0};
    folder_clear();
    s->ctx = check_context(1);
    s->p = problem_new(s->ctx, 100, 5, 3);
    s->o = ll_fit_options_default();
    s->o.method = method;
    s->o.samples = 6;
    s->o.epochs = 3;
    s->o.lr = 0.2;
    s->o.batch_size = 30; /* four steps an epoch, the last of ten rows */
    s->o.thin = 3;
    s->o.burn_in = 1;
    s->o.lr_t0 = 50;
    s->o.seed = 21;
    if (given->shuffle)
        s->o.shuffle = given->shuffle;
    if (given->metric)
        s->o.precondition = "kfac";
    if (given->chains)
        s->o.chains = given->chains;
    s->steps = given->chains ? 3 * (4 + 2 * 3) : row_of(method)->tasks(&s->o) > 1 ? 6 * 3 * 4 : has_masks(method) ? 3 * 4 : 4 + 6 * 3;
    if (given->steps)
        s->steps = given->steps;
    s->stride = 1 + s->steps / 80;
    if (given->network) { /* of whose moments and masks nothing may be lost either */
        ll_train_options t = ll_train_options_default("mlp:4,3");
        t.epochs = 3;
        t.batch_size = 30;
        t.no_holdout = true;
        CHECK_OK(s->ctx, ll_train(&s->network, s->ctx, s->p.data, &t));
    }
    CHECK_OK(s->ctx, fit_write(s, s->ctx, "whole", false));
    s->whole = folder_read("whole");
}

static void scene_release(scene *s) {
    free(s->whole.data);
    ll_network_free(s->network);
    problem_free(&s->p);
    ll_context_free(s->ctx);
}

static ll_status run(const scene *s, int threads, double after, bool resume) {
    cut c;
    ll_context *ctx = cut_context(&c, threads, after);
    ll_status status = fit_write(s, ctx, "run", resume);
    if (status != LL_OK && status != LL_ERR_CANCELLED)
        fail_msg("%s", ll_context_message(ctx));
    ll_context_free(ctx);
    return status;
}

static void check_whole(const scene *s) {
    folder_check_same("run", &s->whole);
    assert_false(folder_has("run.partial"));
    unlink(folder_path("run"));
}

/* Cut after every single step, then resumed. With two workers a report may be skipped, since the other worker made one at the same time, or
 * come when the other is in the last step: then nothing hears the wish in time, and the run ends whole. */
static void test_every_step(void **state) {
    (void)state;
    for (size_t m = 0; m < LLI_COUNT(subjects); m++)
        for (int threads = check_step(2); threads <= 2; threads++) {
            scene s;
            scene_init(&s, &subjects[m]);
            int64_t kept = 0, stride = s.stride * check_step(5);
            for (int64_t step = 1; step < s.steps; step += stride) {
                if (run(&s, threads, (double)step, false) != LL_OK) {
                    assert_false(folder_has("run"));
                    kept += folder_has("run.partial");
                    assert_int_equal(run(&s, threads, -1, true), LL_OK);
                } else {
                    assert_int_equal(threads, 2);
                }
                check_whole(&s);
            }
            assert_true(kept > s.steps / stride / 3); /* most cuts leave something to go on from */
            scene_release(&s);
        }
}

/* Resumed and cut again and again: each time it gets a little further. */
static void test_many_cuts(void **state) {
    (void)state;
    for (size_t m = 0; m < LLI_COUNT(subjects); m++)
        for (int64_t stride = check_step(5); stride <= 5; stride += 2) {
            scene s;
            scene_init(&s, &subjects[m]);
            int64_t runs = 0;
            for (int64_t step = stride;; step += stride * s.stride, runs++)
                if (run(&s, 1, (double)step, true) == LL_OK)
                    break;
            assert_true(runs >= s.steps / stride / s.stride - 2);
            check_whole(&s);
            scene_release(&s);
        }
}

/* A resumed chain does not start over: it needs fewer steps than a whole one. */
static void test_goes_on(void **state) {
    (void)state;
    for (size_t m = 0; m < LLI_COUNT(subjects); m++) {
        scene s;
        scene_init(&s, &subjects[m]);
        assert_int_equal(run(&s, 1, (double)s.steps - 1, false), LL_ERR_CANCELLED);
        cut c;
        ll_context *ctx = cut_context(&c, 1, -1);
        int before = seconds;
        CHECK_OK(ctx, fit_write(&s, ctx, "run", true));
        assert_true(seconds - before < s.steps / 2);
        ll_context_free(ctx);
        check_whole(&s);
        scene_release(&s);
    }
}

/* Progress counts every step once and ends at the total, from the start and after a cut. */
static void test_progress(void **state) {
    (void)state;
    for (size_t m = 0; m < LLI_COUNT(subjects); m++) {
        scene s;
        scene_init(&s, &subjects[m]);
        for (int resumed = 0; resumed < 2; resumed++) {
            cut c = {0};
            if (resumed)
                assert_int_equal(run(&s, 1, (double)s.steps - 2, false), LL_ERR_CANCELLED);
            ll_context *ctx = cut_context(&c, 1, -1);
            CHECK_OK(ctx, fit_write(&s, ctx, "run", resumed));
            CHECK_NEAR(c.total, (double)s.steps, 0);
            CHECK_NEAR(c.done, c.total, 0);
            ll_context_free(ctx);
            check_whole(&s);
        }
        scene_release(&s);
    }
}

/* One byte of the work file is wrong, anywhere behind the header: what it spoiled is made again. */
static void test_torn(void **state) {
    (void)state;
    for (size_t m = 0; m < LLI_COUNT(subjects); m++) {
        scene s;
        scene_init(&s, &subjects[m]);
        assert_int_equal(run(&s, 1, (double)s.steps - 2, false), LL_ERR_CANCELLED);
        folder_bytes partial = folder_read("run.partial");
        uint64_t header;
        memcpy(&header, s.whole.data, sizeof header);
        assert_true(partial.size > s.whole.size);
        for (size_t at = 8 + header; at < partial.size; at += (size_t)check_step(10) * (at < s.whole.size           ? 29
                                                                                        : s.network || s.stride > 1 ? 43
                                                                                                                    : 7)) {
            partial.data[at] ^= 0x10;
            folder_write("run.partial", partial.data, partial.size);
            partial.data[at] ^= 0x10;
            assert_int_equal(run(&s, 1, -1, true), LL_OK);
            check_whole(&s);
        }
        /* the whole journal, or all the members, lost at once */
        for (int part = 0; part < 2; part++) {
            size_t from = part ? 8 + header : s.whole.size, to = part ? s.whole.size : partial.size;
            unsigned char *copy = malloc(partial.size);
            memcpy(copy, partial.data, partial.size);
            memset(copy + from, 0, to - from);
            folder_write("run.partial", copy, partial.size);
            assert_int_equal(run(&s, 1, -1, true), LL_OK);
            check_whole(&s);
            free(copy);
        }
        free(partial.data);
        scene_release(&s);
    }
}

/* Killed between making room and writing the header, or between cutting the journal off and renaming. */
static void test_first_and_last_moment(void **state) {
    (void)state;
    scene s;
    scene_init(&s, &subjects[1]);
    unsigned char nothing[5000] = {0};
    folder_write("run.partial", nothing, sizeof nothing);
    assert_int_equal(run(&s, 1, -1, true), LL_OK);
    check_whole(&s);
    folder_write("run.partial", nothing, 0);
    assert_int_equal(run(&s, 1, -1, false), LL_OK);
    check_whole(&s);
    folder_write("run.partial", s.whole.data, s.whole.size);
    assert_int_equal(run(&s, 1, -1, true), LL_OK);
    check_whole(&s);
    folder_write("run.partial", "another!", 8); /* eight bytes that are no length of a header of ours */
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "run.partial was begun with other options", fit_write(&s, s.ctx, "run", true));
    unlink(folder_path("run.partial"));
    assert_int_equal(run(&s, 1, -1, true), LL_OK); /* nothing to resume is no failure */
    check_whole(&s);
    scene_release(&s);
}

static void on_last_step(void *user, const char *what, double done, double total) {
    (void)user, (void)what;
    if (done >= total && total > 2)
        (void)mkdir(folder_path("run"), 0777);
}

/* All members are there, and then the file cannot get its name: the work stays for a resume. */
static void test_name_taken(void **state) {
    (void)state;
    scene s;
    scene_init(&s, &subjects[1]);
    ll_context *ctx;
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    options.progress = on_last_step;
    assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
    assert_int_equal(fit_write(&s, ctx, "run", false), LL_ERR_WRITE);
    assert_true(folder_has("run.partial"));
    assert_int_equal(rmdir(folder_path("run")), 0);
    ll_context_free(ctx);
    assert_int_equal(run(&s, 1, -1, true), LL_OK);
    check_whole(&s);
    scene_release(&s);
}

/* A single task has one workspace, whichever worker comes. */
static void test_any_worker(void **state) {
    (void)state;
    for (size_t m = 0; m < LLI_COUNT(subjects); m++) {
        scene s;
        scene_init(&s, &subjects[m]);
        const lli_method *row = row_of(subjects[m].method);
        ll_fit_options o;
        lli_found_theta found = {0};
        lli_ensemble_plan plan = {0};
        lli_partial *partial;
        lli_fit fit;
        lli_meter meter;
        if (row->tasks(&s.o) == 1 && !s.network) {
            CHECK_OK(s.ctx, lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false));
            CHECK_OK(s.ctx, lli_partial_open(&partial, s.ctx, folder_path("run"), LLI_OUTFILE_NEW));
            CHECK_OK(s.ctx, lli_found_theta_init(s.ctx, &found, s.p.data, s.p.head, NULL, &o));
            CHECK_OK(s.ctx, lli_fit_plan(s.ctx, &plan, &o, s.p.data, &found.star));
            CHECK_OK(s.ctx, lli_partial_begin(s.ctx, partial, &plan, lli_fit_floats(row, &found.star), 1));
            CHECK_OK(s.ctx, lli_fit_init(s.ctx, &fit, row, &o, &found.star, s.p.data, lli_partial_store(partial), &meter));
            lli_meter_init(&meter, o.method, row->steps(&fit));
            float *theta = problem_room(found.star.model->floats, sizeof *theta);
            memcpy(theta, found.star.theta, (size_t)found.star.model->floats * sizeof *theta);
            for (int64_t i = 0; i < found.star.model->floats; i++) { /* no parameter that is not finite gets into a file */
                float kept = theta[i];
                theta[i] = i % 2 ? NAN : -INFINITY;
                CHECK_FAILS(s.ctx, LL_ERR_DIVERGED, "member 0 (lr 0.2) holds a parameter that is not finite",
                            lli_fit_save(s.ctx, &fit, 0, theta, 0));
                theta[i] = kept;
            }
            free(theta);
            CHECK_OK(s.ctx, lli_fit_task(s.ctx, &fit, 0, 7));
            lli_fit_release(&fit);
            CHECK_OK(s.ctx, lli_partial_commit(s.ctx, partial));
            lli_ensemble_plan_release(&plan);
            lli_found_theta_release(&found);
            check_whole(&s);
        }
        scene_release(&s);
    }
}

/* Another run's work file is refused, and kept; so is one's own without resume. */
static void test_refused(void **state) {
    (void)state;
    scene s;
    scene_init(&s, &subjects[2]);
    assert_int_equal(run(&s, 1, 40, false), LL_ERR_CANCELLED);
    folder_bytes partial = folder_read("run.partial");
    ll_fit_options changed[6];
    for (int i = 0; i < 6; i++)
        changed[i] = s.o;
    changed[0].seed++;
    changed[1].samples++;
    changed[2].lr *= 1.0001;
    changed[3].prior_precision = 2;
    changed[4].batch_size++;
    changed[5].method = "sgd";
    for (int i = 0; i < 6; i++) {
        CHECK_FAILS(s.ctx, LL_ERR_USAGE, "run.partial was begun with other options",
                    ll_fit_write(NULL, s.ctx, folder_path("run"), s.p.data, s.p.head, &changed[i], true));
        folder_check_same("run.partial", &partial);
    }
    ll_head *other = problem_head(s.ctx, 3, 5, 77, 1);
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "other options, other data",
                ll_fit_write(NULL, s.ctx, folder_path("run"), s.p.data, other, &s.o, true));
    ll_head_free(other);
    float kept = s.p.z[0];
    s.p.z[0] += 1;
    ll_array labels = ll_array_view(s.p.y, LL_DTYPE_I64, 1, &s.p.N);
    ll_dataset *moved;
    CHECK_OK(s.ctx, ll_dataset_new(&moved, s.ctx, ll_array_view(s.p.z, LL_DTYPE_F32, 2, (int64_t[]){s.p.N, s.p.D}), &labels, 3));
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "other options, other data",
                ll_fit_write(NULL, s.ctx, folder_path("run"), moved, s.p.head, &s.o, true));
    ll_dataset_free(moved);
    s.p.z[0] = kept; /* - 1 would not give back the last bits */
    CHECK_FAILS(s.ctx, LL_ERR_WRITE, "run.partial holds an unfinished run",
                ll_fit_write(NULL, s.ctx, folder_path("run"), s.p.data, s.p.head, &s.o, false));
    folder_check_same("run.partial", &partial);
    assert_false(folder_has("run"));
    CHECK_OK(s.ctx, ll_fit_write(NULL, s.ctx, folder_path("run"), s.p.data, s.p.head, &s.o, true));
    check_whole(&s);
    free(partial.data);
    scene_release(&s);
}

/* ---- a rule with slots on a head ---- */

static const lli_optimiser heavy = {.rule = &lli_rule_nesterov, .momentum = 0.9};

static ll_status run_heavy(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    const lli_chain_options options = lli_chains_options(fit, task);
    return lli_chains_sample(ctx, fit, &options, task, worker);
}

/* A row of this test's own: samples of a chain whose velocity a checkpoint must keep. */
static const lli_method heavy_row = {
    .info = {.name = "heavy"},
    .places = LLI_PLACE_HEAD,
    .optimiser = &heavy,
    .tasks = lli_method_one,
    .steps = lli_chains_sample_steps,
    .prepare = lli_chains_prepare,
    .release = lli_chains_release,
    .run = run_heavy,
};

/* As ll_fit_write does it. */
static ll_status write_heavy(const scene *s, ll_context *ctx, const char *name, bool resume) {
    ll_fit_options o;
    lli_found_theta found = {0};
    lli_ensemble_plan plan = {0};
    lli_partial *partial = NULL, *ready;
    lli_fit fit = {0};
    lli_meter meter;
    ll_status status;
    LLI_DO(lli_fit_resolve(ctx, &o, &s->o, s->p.data, false));
    LLI_DO(lli_partial_open(&partial, ctx, folder_path(name), resume ? LLI_OUTFILE_RESUME : LLI_OUTFILE_NEW));
    LLI_DO(lli_found_theta_init(ctx, &found, s->p.data, s->p.head, NULL, &o));
    LLI_DO(lli_fit_plan(ctx, &plan, &o, s->p.data, &found.star));
    LLI_DO(lli_partial_begin(ctx, partial, &plan, lli_fit_floats(&heavy_row, &found.star), 1));
    LLI_DO(lli_fit_init(ctx, &fit, &heavy_row, &o, &found.star, s->p.data, lli_partial_store(partial), &meter));
    lli_meter_init(&meter, o.method, heavy_row.steps(&fit));
    LLI_DO(lli_fit_run(ctx, &fit));
    ready = partial;
    partial = NULL;
    LLI_DO(lli_partial_commit(ctx, ready));
done:
    lli_fit_release(&fit);
    if (partial)
        lli_partial_abandon(ctx, partial, status);
    lli_ensemble_plan_release(&plan);
    lli_found_theta_release(&found);
    return status;
}

/* Cut after every step: velocity and all go on from the file, to the same bytes. */
static void test_slots_survive(void **state) {
    (void)state;
    scene s;
    scene_init(&s, &subjects[0]);
    folder_bytes plain = s.whole;
    CHECK_OK(s.ctx, write_heavy(&s, s.ctx, "heavy", false));
    s.whole = folder_read("heavy");
    assert_true(plain.size == s.whole.size && memcmp(plain.data, s.whole.data, plain.size) != 0); /* momentum goes elsewhere */
    free(plain.data);
    int64_t reached = 0;
    for (int64_t step = 1; step < s.steps; step++) {
        cut c;
        ll_context *ctx = cut_context(&c, 1, (double)step);
        assert_int_equal(write_heavy(&s, ctx, "run", false), LL_ERR_CANCELLED);
        ll_context_free(ctx);
        reached += folder_has("run.partial");
        CHECK_OK(s.ctx, write_heavy(&s, s.ctx, "run", true));
        check_whole(&s);
    }
    assert_true(reached > s.steps / 3);
    scene_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_step),    cmocka_unit_test(test_many_cuts),  cmocka_unit_test(test_goes_on),
        cmocka_unit_test(test_progress),      cmocka_unit_test(test_torn),       cmocka_unit_test(test_first_and_last_moment),
        cmocka_unit_test(test_name_taken),    cmocka_unit_test(test_any_worker), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_slots_survive),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
