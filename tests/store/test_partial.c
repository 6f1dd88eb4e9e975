/* SPDX-License-Identifier: MIT */
/* The work file of a fit: what was saved comes back, what was torn does not, and a finished one has the bytes that the formats room writes
 * of the same arrays. The clock is this test's own. */
#include "check.h"
#include "folder.h"
#include "formats/format.h"
#include "store/partial.h"
#include "store/parts.h"
#include "two_methods.h"

enum { S = 5, K = 2, D = 3, FLOATS = 11, TASKS = 3 };

double __wrap_lli_clock_seconds(void);

static double now = 100, tick; /* a look at the clock takes `tick` */

double __wrap_lli_clock_seconds(void) {
    now += tick;
    return now;
}

static float W[S][K][D], b[S][K];

static ll_ensemble *whole(ll_context *ctx, const char *seed) {
    for (int s = 0; s < S; s++) {
        for (int i = 0; i < K * D; i++)
            W[s][i / D][i % D] = (float)(s + 0.01 * i);
        for (int k = 0; k < K; k++)
            b[s][k] = (float)(-s - 0.1 * k);
    }
    const double weight[S] = {0.1, 0.2, 0.3, 0.25, 0.15};
    const ll_meta meta[] = {{"seed", seed}};
    ll_array bias = ll_array_view(b, LL_DTYPE_F32, 2, (int64_t[]){S, K});
    ll_array weights = ll_array_view((void *)(uintptr_t)weight, LL_DTYPE_F64, 1, (int64_t[]){S});
    ll_ensemble *e;
    CHECK_OK(ctx, ll_ensemble_new(&e, ctx, ll_array_view(W, LL_DTYPE_F32, 3, (int64_t[]){S, K, D}), &bias, &weights, meta, 1));
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    int64_t count = lli_ensemble_list(arrays, e);
    const lli_provenance *p = &e->plan.provenance;
    CHECK_OK(ctx, ll_bundle_write(ctx, folder_path("whole.safetensors"), arrays, count, p->pairs, p->count));
    return e;
}

static lli_partial *begin(ll_context *ctx, const ll_ensemble *e, bool resume, int64_t tasks) {
    lli_partial *p;
    CHECK_OK(ctx, lli_partial_open(&p, ctx, folder_path("run.safetensors"), resume ? LLI_OUTFILE_RESUME : LLI_OUTFILE_NEW));
    CHECK_OK(ctx, lli_partial_begin(ctx, p, &e->plan, FLOATS, tasks));
    return p;
}

static void save(ll_context *ctx, lli_partial *p, int member) {
    const float *tensors[] = {&W[member][0][0], b[member]};
    lli_store *store = lli_partial_store(p);
    CHECK_OK(ctx, store->ops->save(store, ctx, member, tensors));
}

/* The state of a task after this many steps; every number is its own. */
static void state_of(lli_checkpoint *state, float theta[FLOATS], int64_t task, int64_t step) {
    *state = (lli_checkpoint){step, (double)task + 0.5, (double)(task * 100 + step)};
    for (int i = 0; i < FLOATS; i++)
        theta[i] = (float)(10000 * task + 100 * step + i);
}

static void checkpoint(ll_context *ctx, lli_partial *p, int64_t task, int64_t step) {
    float theta[FLOATS];
    lli_checkpoint state;
    lli_store *store = lli_partial_store(p);
    state_of(&state, theta, task, step);
    CHECK_OK(ctx, store->ops->checkpoint(store, ctx, task, &state, theta, FLOATS));
}

/* The step that comes back, with the rest of its state; 0: none does, and nothing is touched. */
static int64_t restored(ll_context *ctx, lli_partial *p, int64_t task) {
    lli_checkpoint state = {-1, -1, -1}, expected;
    float theta[FLOATS], wanted[FLOATS];
    memset(theta, 0, sizeof theta);
    bool found;
    lli_store *store = lli_partial_store(p);
    CHECK_OK(ctx, store->ops->restore(store, ctx, task, &state, theta, &(lli_window){1, FLOATS, 0, FLOATS}, &found));
    if (!found) {
        assert_int_equal(state.step, -1);
        return 0;
    }
    state_of(&expected, wanted, task, state.step);
    assert_memory_equal(&state, &expected, sizeof state);
    assert_memory_equal(theta, wanted, sizeof theta);
    return state.step;
}

static void check_finished(ll_context *ctx, lli_partial *p) {
    CHECK_OK(ctx, lli_partial_commit(ctx, p));
    folder_bytes expected = folder_read("whole.safetensors");
    folder_check_same("run.safetensors", &expected);
    free(expected.data);
    assert_false(folder_has("run.safetensors.partial"));
    unlink(folder_path("run.safetensors"));
}

static void finish(ll_context *ctx, const ll_ensemble *e, const bool *expected) {
    lli_partial *p = begin(ctx, e, true, TASKS);
    lli_store *store = lli_partial_store(p);
    for (int s = S - 1; s >= 0; s--) {
        assert_int_equal(lli_store_has(store, s), expected[s]);
        if (!expected[s])
            save(ctx, p, s);
    }
    assert_false(lli_partial_complete(p));
    check_finished(ctx, p);
}

/* Cut after any set of members, gone on with. */
static void test_members(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    folder_clear();
    ll_ensemble *e = whole(ctx, "7");
    for (int set = 0; set < 1 << S; set += set < 6 ? 1 : 5) {
        bool done[S];
        lli_partial *p = begin(ctx, e, false, TASKS);
        for (int s = 0; s < S; s++) {
            assert_false(lli_store_has(lli_partial_store(p), s)); /* of an earlier run */
            done[s] = set >> s & 1;
            if (done[s])
                save(ctx, p, s);
        }
        lli_partial_abandon(ctx, p, LL_ERR_CANCELLED);
        assert_int_equal(folder_has("run.safetensors.partial"), set > 0); /* one that holds nothing goes */
        assert_false(folder_has("run.safetensors"));
        finish(ctx, e, done);
    }
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

/* The two slots take turns; each task has its own. */
static void test_checkpoints(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    folder_clear();
    ll_ensemble *e = whole(ctx, "7");
    for (int64_t steps = 0; steps < 6; steps++) {
        lli_partial *p = begin(ctx, e, false, TASKS);
        for (int64_t step = 1; step <= steps; step++)
            for (int64_t task = 0; task < TASKS; task++) {
                now += 1;
                if (step <= steps - task)
                    checkpoint(ctx, p, task, step);
            }
        assert_int_equal(restored(ctx, p, 0), 0); /* a fresh run has nothing to go on from */
        lli_partial_abandon(ctx, p, LL_ERR_CANCELLED);
        assert_int_equal(folder_has("run.safetensors.partial"), steps > 0);
        if (!steps)
            continue;
        for (int again = 0; again < 2; again++) {
            p = begin(ctx, e, true, TASKS);
            for (int64_t task = 0; task < TASKS; task++)
                assert_int_equal(restored(ctx, p, task), LLI_MAX(0, steps - task));
            assert_int_equal(restored(ctx, p, TASKS), 0);
            now += 1;
            lli_partial_abandon(ctx, p, LL_ERR_CANCELLED); /* what was found stays, though nothing is new */
            assert_true(folder_has("run.safetensors.partial"));
        }
        p = begin(ctx, e, true, TASKS); /* goes on where it was: the next one is the youngest */
        (void)restored(ctx, p, 0);
        now += 1;
        checkpoint(ctx, p, 0, steps + 1);
        lli_partial_abandon(ctx, p, LL_ERR_CANCELLED);
        p = begin(ctx, e, true, TASKS);
        assert_int_equal(restored(ctx, p, 0), steps + 1);
        lli_partial_abandon(ctx, p, LL_ERR_DIVERGED); /* nobody wants to go on from there */
        assert_false(folder_has("run.safetensors.partial"));
    }
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

/* One within half a second, or within twenty times what the last took, is skipped. */
static void test_pace(void **state) {
    (void)state;
    static const struct {
        double tick, wait;
        bool kept;
    } cases[] = {{0, 0.49, false},   {0, 0.5, true},    {0, 0.7, true},     {0.1, 0.5, false},
                 {0.1, 1.85, false}, {0.1, 1.95, true}, {0.25, 4.7, false}, {0.25, 4.8, true}};
    ll_context *ctx = check_context(1);
    folder_clear();
    ll_ensemble *e = whole(ctx, "7");
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        now = tick = 0;
        lli_partial *p = begin(ctx, e, false, 1);
        checkpoint(ctx, p, 0, 1); /* at once: too young */
        now = 0.5;
        tick = cases[i].tick;
        checkpoint(ctx, p, 0, 2); /* costs one tick */
        now += cases[i].wait;
        checkpoint(ctx, p, 0, 3);
        tick = 0;
        lli_partial_abandon(ctx, p, LL_ERR_CANCELLED);
        p = begin(ctx, e, true, 1);
        assert_int_equal(restored(ctx, p, 0), cases[i].kept ? 3 : 2);
        lli_partial_abandon(ctx, p, LL_ERR_DIVERGED);
    }
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

/* With 64 tasks each keeps checkpoints, with more none does, and none writes behind the file. */
static void test_many_tasks(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    folder_clear();
    ll_ensemble *e = whole(ctx, "7");
    for (int64_t tasks = 64; tasks <= 65; tasks++) {
        lli_partial *p = begin(ctx, e, false, tasks);
        save(ctx, p, 0);
        folder_bytes fresh = folder_read("run.safetensors.partial");
        now += 1;
        for (int64_t task = 0; task < tasks; task++)
            checkpoint(ctx, p, task, 9);
        folder_bytes later = folder_read("run.safetensors.partial");
        assert_int_equal(fresh.size, later.size);
        assert_true(tasks == 65 || fresh.size >= 128 * (128 + FLOATS * sizeof(float)));
        assert_true(tasks == 64 || fresh.size < 1000);
        lli_partial_abandon(ctx, p, LL_ERR_CANCELLED);
        p = begin(ctx, e, true, tasks);
        for (int64_t task = 0; task < tasks; task++)
            assert_int_equal(restored(ctx, p, task), tasks == 64 ? 9 : 0);
        lli_partial_abandon(ctx, p, LL_ERR_DIVERGED);
        free(fresh.data);
        free(later.data);
    }
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

/* Any byte behind the header is wrong: a member or a checkpoint is lost, never changed, and the end is the same. */
static void test_torn(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    folder_clear();
    ll_ensemble *e = whole(ctx, "7");
    lli_partial *p = begin(ctx, e, false, TASKS);
    save(ctx, p, 1);
    save(ctx, p, 4);
    for (int64_t step = 1; step <= 3; step++) {
        now += 1;
        checkpoint(ctx, p, 1, step);
    }
    lli_partial_abandon(ctx, p, LL_ERR_CANCELLED);
    folder_bytes file = folder_read("run.safetensors.partial");
    uint64_t header, lost_members = 0, lost_steps = 0;
    memcpy(&header, file.data, sizeof header);
    for (size_t at = 8 + header; at < file.size; at++) {
        file.data[at] ^= 0x40;
        folder_write("run.safetensors.partial", file.data, file.size);
        file.data[at] ^= 0x40;
        p = begin(ctx, e, true, TASKS);
        lli_store *store = lli_partial_store(p);
        assert_false(lli_store_has(store, 0) || lli_store_has(store, 2) || lli_store_has(store, 3));
        unsigned lost = !lli_store_has(store, 1) + !lli_store_has(store, 4);
        assert_in_range(lost, 0, 1);
        lost_members += lost;
        int64_t step = restored(ctx, p, 1);
        assert_in_range(step, 2, 3);
        lost_steps += step == 2;
        assert_int_equal(restored(ctx, p, 0), 0);
        for (int s = 0; s < S; s++)
            if (!lli_store_has(store, s))
                save(ctx, p, s);
        if (at % 32 == 0)
            check_finished(ctx, p); /* which waits for the disk */
        else
            lli_partial_abandon(ctx, p, LL_ERR_DIVERGED);
    }
    assert_int_equal(lost_members, 2 * (4 * (K * D + K) + 64)); /* each byte of the two members and of their fingerprints */
    assert_in_range(lost_steps, 8 + 24 + 64 + 4 * FLOATS, 8 + 24 + 72 + 4 * FLOATS); /* each of the youngest slot's, but for padding */
    free(file.data);
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

static void refused(ll_context *ctx, const ll_ensemble *e, int64_t floats, int64_t tasks) {
    folder_bytes before = folder_read("run.safetensors.partial");
    lli_partial *p;
    CHECK_OK(ctx, lli_partial_open(&p, ctx, folder_path("run.safetensors"), LLI_OUTFILE_RESUME));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "run.safetensors.partial was begun with other options, other data or another version",
                lli_partial_begin(ctx, p, &e->plan, floats, tasks));
    lli_partial_abandon(ctx, p, LL_ERR_USAGE);
    folder_check_same("run.safetensors.partial", &before);
    free(before.data);
}

static void test_refused(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    folder_clear();
    ll_ensemble *e = whole(ctx, "7"), *other = whole(ctx, "8");
    lli_partial *p = begin(ctx, e, false, TASKS);
    save(ctx, p, 2);
    lli_partial_abandon(ctx, p, LL_ERR_CANCELLED);
    refused(ctx, other, FLOATS, TASKS);
    refused(ctx, e, FLOATS + 1, TASKS); /* it would be longer */
    refused(ctx, e, FLOATS, TASKS + 1);
    CHECK_FAILS(ctx, LL_ERR_WRITE, "run.safetensors.partial holds an unfinished run",
                lli_partial_open(&p, ctx, folder_path("run.safetensors"), LLI_OUTFILE_NEW));
    assert_null(p);
    folder_bytes file = folder_read("run.safetensors.partial");
    folder_write("run.safetensors.partial", file.data, file.size - 1);
    refused(ctx, e, FLOATS, TASKS);
    for (size_t size = 8; size < 10; size++) { /* less than a header */
        folder_write("run.safetensors.partial", file.data, size);
        refused(ctx, e, FLOATS, TASKS);
    }
    folder_write("run.safetensors.partial", file.data, file.size);
    ll_ensemble_free(e);
    e = whole(ctx, "7"); /* the file to compare with */
    finish(ctx, e, (bool[S]){false, false, true, false, false});
    free(file.data);
    ll_ensemble_free(e);
    ll_ensemble_free(other);
    ll_context_free(ctx);
}

/* Killed before the header was there, or after the journal was cut off. */
static void test_first_and_last(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 7, 8, 9, 3000};
    static const unsigned char nothing[3000];
    ll_context *ctx = check_context(1);
    folder_clear();
    ll_ensemble *e = whole(ctx, "7");
    for (size_t i = 0; i < LLI_COUNT(sizes); i++) {
        folder_write("run.safetensors.partial", nothing, sizes[i]);
        finish(ctx, e, (bool[S]){false});
        folder_write("run.safetensors.partial", nothing, sizes[i]);
        lli_partial *p = begin(ctx, e, true, TASKS);
        lli_partial_abandon(ctx, p, LL_ERR_CANCELLED);
        assert_false(folder_has("run.safetensors.partial"));
    }
    folder_bytes done = folder_read("whole.safetensors");
    folder_write("run.safetensors.partial", done.data, done.size);
    lli_partial *p = begin(ctx, e, true, TASKS);
    assert_true(lli_partial_complete(p));
    check_finished(ctx, p);
    free(done.data);
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

/* A part holds the members that are there, which these are, and what the whole is. */
static void test_part(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    folder_clear();
    ll_ensemble *e = whole(ctx, "7");
    const lli_share part = {1, 3};
    lli_partial *p;
    CHECK_OK(ctx, lli_partial_open(&p, ctx, folder_path("e.safetensors.part-2-of-3"), LLI_OUTFILE_NEW));
    CHECK_OK(ctx, lli_partial_begin(ctx, p, &e->plan, FLOATS, TASKS));
    save(ctx, p, 4);
    save(ctx, p, 1);
    CHECK_OK(ctx, lli_partial_commit_part(ctx, p, &e->plan, &part));
    assert_false(folder_has("e.safetensors.part-2-of-3.partial"));
    ll_bundle *bundle;
    CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, folder_path("e.safetensors.part-2-of-3")));
    assert_int_equal(ll_bundle_count(bundle), 5);
    assert_string_equal(lli_bundle_meta(bundle, LLI_PARTS_KIND), LLI_PARTS_ENSEMBLE);
    assert_string_equal(lli_bundle_meta(bundle, LLI_PARTS_NUMBER), "2/3");
    assert_string_equal(lli_bundle_meta(bundle, LLI_PARTS_TOTAL), "5");
    assert_string_equal(lli_bundle_meta(bundle, LLI_PARTS_TENSORS), "3");
    assert_string_equal(lli_bundle_meta(bundle, "seed"), "7");
    static const char *const array_names[] = {"W", "b", LLI_FINGERPRINT_ARRAY, "weight", LLI_PARTS_MEMBERS};
    static const int64_t rows[] = {2, 2, 2, S, 2}, which[] = {1, 4};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(bundle->items[i].name, array_names[i]);
        assert_int_equal(bundle->items[i].shape[0], rows[i]);
    }
    assert_memory_equal(bundle->items[4].data, which, sizeof which);
    for (int j = 0; j < 2; j++) {
        assert_memory_equal((const char *)bundle->items[0].data + (size_t)j * sizeof W[0], W[which[j]], sizeof W[0]);
        assert_memory_equal((const char *)bundle->items[1].data + (size_t)j * sizeof b[0], b[which[j]], sizeof b[0]);
        assert_memory_equal((const lli_fingerprint *)bundle->items[2].data + j, e->fingerprint + which[j], sizeof *e->fingerprint);
    }
    assert_memory_equal(bundle->items[3].data, e->plan.weight, S * sizeof(double));
    ll_bundle_free(bundle);
    /* it cannot be written: the work stays */
    CHECK_OK(ctx, lli_partial_open(&p, ctx, folder_path("e.nothing"), LLI_OUTFILE_NEW));
    CHECK_OK(ctx, lli_partial_begin(ctx, p, &e->plan, FLOATS, TASKS));
    save(ctx, p, 1);
    assert_int_not_equal(lli_partial_commit_part(ctx, p, &e->plan, &part), LL_OK);
    assert_true(folder_has("e.nothing.partial"));
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_members),        cmocka_unit_test(test_checkpoints),
                                       cmocka_unit_test(test_pace),           cmocka_unit_test(test_many_tasks),
                                       cmocka_unit_test(test_torn),           cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_first_and_last), cmocka_unit_test(test_part)};
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
