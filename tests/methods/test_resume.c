/* SPDX-License-Identifier: MIT */
/* A run that stops and goes on: it ends in the bits of one that did not, does nothing twice, and counts every step once. Any number of
 * threads ends in them too. */
#include "scene.h"
#include "train/hamilton.h"

enum { TASKS = 6 };

/* Keeps what a file keeps, until it is told to fail. */
typedef struct lasting {
    lli_store store;
    lli_store_memory memory;
    bool has[6];
    lli_checkpoint state[TASKS];
    float *kept[TASKS];
    int64_t floats, saves, checkpoints, stop; /* after so many checkpoints, or saves where none are made; 0: never */
    bool stop_at_save;
} lasting;

static ll_status keep_member(lli_store *store, ll_context *ctx, int64_t member, const float *const *tensors) {
    lasting *s = (lasting *)store;
    LLI_TRY(s->memory.store.ops->save(&s->memory.store, ctx, member, tensors));
    s->has[member] = true;
    s->saves++;
    return s->stop_at_save && s->saves == s->stop ? lli_fail(ctx, LL_ERR_CANCELLED, "stopped") : LL_OK;
}

static bool has_member(lli_store *store, int64_t member) {
    return ((lasting *)store)->has[member];
}

static ll_status keep_state(lli_store *store, ll_context *ctx, int64_t task, const lli_checkpoint *state, const float *theta,
                            int64_t floats) {
    lasting *s = (lasting *)store;
    assert_int_equal(floats, s->floats);
    s->kept[task] = s->kept[task] ? s->kept[task] : problem_room(floats, sizeof(float));
    memcpy(s->kept[task], theta, (size_t)floats * sizeof(float));
    s->state[task] = *state;
    s->checkpoints++;
    return !s->stop_at_save && s->checkpoints == s->stop ? lli_fail(ctx, LL_ERR_CANCELLED, "stopped") : LL_OK;
}

static ll_status find_state(lli_store *store, ll_context *ctx, int64_t task, lli_checkpoint *state, float *theta, const lli_window *here,
                            bool *found) {
    (void)ctx;
    lasting *s = (lasting *)store;
    assert_int_equal(here->first, 0);
    assert_int_equal(here->count, here->whole);
    assert_int_equal(here->copies * here->count, s->floats);
    *found = s->kept[task] != NULL;
    if (*found) {
        *state = s->state[task];
        memcpy(theta, s->kept[task], (size_t)s->floats * sizeof(float));
    }
    return LL_OK;
}

static const lli_store_ops ops = {.save = keep_member, .has = has_member, .checkpoint = keep_state, .restore = find_state};

static void go(scene *s, lasting *store, int64_t stop, bool at_save) {
    ll_fit_options o;
    lli_meter meter;
    lli_fit f;
    CHECK_OK(s->ctx, lli_fit_resolve(s->ctx, &o, &s->o, s->p.data, false));
    const lli_method *method = lli_method_find(o.method);
    store->saves = store->checkpoints = 0;
    store->stop = stop;
    store->stop_at_save = at_save;
    store->floats = lli_fit_floats(method, &s->star);
    CHECK_OK(s->ctx, lli_fit_init(s->ctx, &f, method, &o, &s->star, s->p.data, &store->store, &meter));
    lli_meter_init(&meter, o.method, method->steps(&f));
    ll_status status = lli_fit_run(s->ctx, &f);
    assert_int_equal(status, stop ? LL_ERR_CANCELLED : LL_OK);
    if (!stop)
        CHECK_NEAR(s->done, (double)method->steps(&f), 0);
    lli_fit_release(&f);
}

static void start(scene *s, lasting *store, const char *method, int64_t chains) {
    lli_ensemble_plan plan;
    ll_fit_options o;
    scene_init(s, method);
    s->o.chains = chains;
    s->star.gradient_norm = 1e-6;
    s->star.is_map = true;
    CHECK_OK(s->ctx, lli_fit_resolve(s->ctx, &o, &s->o, s->p.data, false));
    CHECK_OK(s->ctx, lli_fit_plan(s->ctx, &plan, &o, s->p.data, &s->star));
    CHECK_OK(s->ctx, lli_ensemble_new(&s->e, s->ctx, &plan));
    *store = (lasting){.store = {&ops}};
    lli_store_memory_init(&store->memory, s->e);
}

static void end(scene *s, lasting *store) {
    for (int i = 0; i < TASKS; i++)
        free(store->kept[i]);
    scene_free(s);
}

static void same(const scene *a, const scene *b) {
    size_t stored = (size_t)a->e->plan.stored;
    assert_memory_equal(a->e->tensor[0], b->e->tensor[0], stored * K * D * sizeof(float));
    assert_memory_equal(a->e->tensor[1], b->e->tensor[1], stored * K * sizeof(float));
}

/* What is left to do after `stop` checkpoints, by hand. */
static void test_stops(void **state) {
    (void)state;
    static const struct {
        const char *method;
        int64_t chains, checkpoints; /* of the whole run */
        int64_t each;                /* of a task */
        bool samples;                /* a checkpoint is a member, and the last member of each task that stopped is saved again */
    } rows[] = {{"sgld", 1, 6, 6, true},        {"sghmc", 2, 6, 3, true},
                {"psgld", 3, 6, 2, true},       {"cyclical", 2, 6, 3, true},
                {"bootstrap", 1, 18, 3, false}, {"dropout", 1, 3, 3, false},
                {"swag", 1, 4, 4, false},       {"hmc", 1, LLI_HAMILTON_WARMUP + 6, LLI_HAMILTON_WARMUP + 6, false}};
    for (size_t r = 0; r < LLI_COUNT(rows); r++) {
        scene whole;
        lasting all;
        start(&whole, &all, rows[r].method, rows[r].chains);
        go(&whole, &all, 0, false);
        int64_t total = rows[r].checkpoints, each = rows[r].each;
        assert_int_equal(all.checkpoints, total);
        for (int64_t stop = 1; stop <= total; stop += total > 20 ? 41 : 1) {
            scene s;
            lasting store;
            start(&s, &store, rows[r].method, rows[r].chains);
            go(&s, &store, stop, false);
            go(&s, &store, 0, false);
            int64_t again = rows[r].samples ? (stop + each - 1) / each : 0; /* tasks that had begun */
            assert_int_equal(store.checkpoints, total - stop + again);
            same(&s, &whole);
            go(&s, &store, 0, false); /* it is all there */
            assert_int_equal(store.checkpoints, rows[r].samples ? total / each : 0);
            assert_int_equal(store.saves, rows[r].samples ? total / each : 0);
            end(&s, &store);
        }
        end(&whole, &all);
    }
}

/* Interrupted between a member and its checkpoint; and a checkpoint whose members are lost counts for nothing. */
static void test_lost(void **state) {
    (void)state;
    static const char *const methods[] = {"sgld", "hmc", "swag", "laplace", "bootstrap", "dropout"};
    for (size_t m = 0; m < LLI_COUNT(methods); m++) {
        scene whole;
        lasting all;
        start(&whole, &all, methods[m], 1);
        go(&whole, &all, 0, false);
        int64_t stored = whole.e->plan.stored, checkpoints = all.checkpoints;
        for (int64_t stop = 1; stop <= stored; stop += 2) {
            scene s;
            lasting store;
            start(&s, &store, methods[m], 1);
            go(&s, &store, stop, true);
            go(&s, &store, 0, false);
            same(&s, &whole);
            /* sgld stands at the checkpoint of the member before, which it saves again, hmc at that of the draw before */
            int64_t back = m == 0 ? LLI_MIN(stop, 2) : m == 1;
            assert_int_equal(store.saves, stored - stop + back);
            end(&s, &store);
        }
        if (stored == 6 && m < 2) {
            scene s;
            lasting store;
            start(&s, &store, methods[m], 1);
            go(&s, &store, m == 0 ? 4 : LLI_HAMILTON_WARMUP + 4, false);
            store.has[0] = false;
            go(&s, &store, 0, false);
            assert_int_equal(store.checkpoints, checkpoints); /* from the start */
            assert_int_equal(store.saves, 6);
            same(&s, &whole);
            end(&s, &store);
        }
        end(&whole, &all);
    }
}

/* Members that are solved for have no steps: those that are there are left alone. */
static void test_solved(void **state) {
    (void)state;
    scene s, whole;
    lasting store, all;
    start(&whole, &all, "bootstrap", 1);
    whole.o.solve = true;
    go(&whole, &all, 0, false);
    assert_int_equal(all.saves, 6);
    start(&s, &store, "bootstrap", 1);
    s.o.solve = true;
    go(&s, &store, 2, true);
    go(&s, &store, 0, false);
    assert_int_equal(store.saves, 4);
    same(&s, &whole);
    end(&s, &store);
    end(&whole, &all);
}

/* theta, and the slots of the rule; of hmc its own state, in doubles: six numbers and the place. */
static void test_floats(void **state) {
    (void)state;
    static const struct {
        const char *method;
        int64_t copies;
    } rows[] = {{"point", 1},     {"map", 1},     {"laplace", 1}, {"sgd", 1},  {"sgld", 1},
                {"bootstrap", 1}, {"dropout", 1}, {"sghmc", 2},   {"swag", 23}};
    scene s;
    scene_init(&s, "sgd");
    for (size_t i = 0; i < LLI_COUNT(rows); i++)
        assert_int_equal(lli_fit_floats(lli_method_find(rows[i].method), &s.star), rows[i].copies * s.model.floats);
    assert_int_equal(lli_fit_floats(lli_method_find("hmc"), &s.star), 2 * (6 + K * (D + 1)));
    scene_free(&s);
}

/* Each worker has what it needs for itself: the same bits with three of them. */
static void test_threads(void **state) {
    (void)state;
    static const char *const methods[] = {"bootstrap", "bootstrap", "sgld", "swag", "hmc", "cyclical", "dropout"};
    for (int m = 0; m < 7; m++) {
        scene s;
        ll_fit_options o;
        ll_ensemble *e;
        scene_init(&s, methods[m]);
        ll_context *ctx = check_context(3);
        s.o.solve = m == 1;
        s.o.chains = m >= 2 && m < 6 ? 3 : 1;
        s.star.gradient_norm = 1e-6;
        fit(&s);
        CHECK_OK(s.ctx, lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false));
        for (int again = 0; again < 3; again++) {
            CHECK_OK(ctx, lli_fit_collect(&e, ctx, &o, s.p.data, &s.star, "threads"));
            for (int t = 0; t < 2; t++)
                assert_memory_equal(e->tensor[t], s.e->tensor[t], (size_t)(e->plan.stored * (t ? K : K * D)) * sizeof(float));
            ll_ensemble_free(e);
        }
        ll_context_free(ctx);
        scene_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops),  cmocka_unit_test(test_lost),    cmocka_unit_test(test_solved),
        cmocka_unit_test(test_floats), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
