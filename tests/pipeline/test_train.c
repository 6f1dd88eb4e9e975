/* SPDX-License-Identifier: MIT */
/* Training through the public interface: cut anywhere, with a torn journal, without memory; networks written and read. */
#include "check.h"
#include "folder.h"
#include "problem.h"

typedef struct scene {
    ll_context *ctx;
    problem p;
    ll_train_options o;
    folder_bytes whole;
} scene;

static void scene_init(scene *s, int threads) {
    folder_clear();
    s->ctx = check_context(threads);
    s->p = problem_new(s->ctx, 150, 9, 3);
    s->o = ll_train_options_default("mlp:7,5");
    s->o.epochs = 5;
    s->o.lr = 0.02;
    s->o.keep = "best";
    CHECK_OK(s->ctx, ll_train_write(NULL, s->ctx, folder_path("whole"), s->p.data, &s->o, false));
    assert_int_equal(folder_count(), 1);
    s->whole = folder_read("whole");
}

static void scene_free(scene *s) {
    free(s->whole.data);
    problem_free(&s->p);
    ll_context_free(s->ctx);
}

typedef struct cut {
    ll_context *ctx;
    int64_t epochs; /* that it may do */
} cut;

static void on_log(void *user, ll_log_level level, const char *sentence) {
    (void)level;
    cut *c = user;
    if (strstr(sentence, "epoch ") == sentence && --c->epochs == 0)
        ll_context_cancel(c->ctx);
}

/* Trains on with a context of its own that is cancelled after so many epochs. */
static ll_status train_until(const scene *s, const char *name, int threads, int64_t epochs) {
    cut c = {.epochs = epochs};
    ll_context_options options = ll_context_options_default();
    options.threads = threads;
    options.log = on_log;
    options.user = &c;
    assert_int_equal(ll_context_new(&c.ctx, &options), LL_OK);
    ll_status status = ll_train_write(NULL, c.ctx, folder_path(name), s->p.data, &s->o, true);
    ll_context_free(c.ctx);
    return status;
}

static void test_cut(void **state) {
    (void)state;
    scene s;
    scene_init(&s, 1);
    for (int64_t epoch = 1; epoch < 5; epoch++) {
        assert_int_equal(train_until(&s, "cut", 1 + (int)epoch % 3, 1), LL_ERR_CANCELLED);
        assert_true(!folder_has("cut") && folder_has("cut.partial"));
    }
    CHECK_OK(s.ctx, ll_train_write(NULL, s.ctx, folder_path("cut"), s.p.data, &s.o, true));
    folder_check_same("cut", &s.whole);
    assert_false(folder_has("cut.partial"));
    /* after the last epoch nothing is left but to write */
    assert_int_equal(train_until(&s, "late", 1, 5), LL_OK);
    folder_check_same("late", &s.whole);
    scene_free(&s);
}

/* A byte of the journal changed: a slot does not count, or the file is told to be another run's; never another result. */
static void test_torn_journal(void **state) {
    (void)state;
    scene s;
    scene_init(&s, 1);
    assert_int_equal(train_until(&s, "torn", 1, 3), LL_ERR_CANCELLED);
    folder_bytes journal = folder_read("torn.partial");
    int64_t refused = 0, redone = 0;
    for (int64_t at = 0; at < (int64_t)journal.size; at += 131) {
        journal.data[at] ^= 0x55;
        folder_write("torn.partial", journal.data, journal.size);
        journal.data[at] ^= 0x55;
        ll_status status = ll_train_write(NULL, s.ctx, folder_path("torn"), s.p.data, &s.o, true);
        assert_true(status == LL_OK || status == LL_ERR_USAGE);
        refused += status == LL_ERR_USAGE;
        redone += status == LL_OK;
        if (status == LL_OK)
            folder_check_same("torn", &s.whole);
        unlink(folder_path("torn"));
    }
    assert_true(refused > 0 && redone > refused);
    /* cut short, as by a full disk */
    folder_write("torn.partial", journal.data, journal.size / 2);
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "cannot be continued", ll_train_write(NULL, s.ctx, folder_path("torn"), s.p.data, &s.o, true));
    folder_write("torn.partial", journal.data, 5);
    CHECK_OK(s.ctx, ll_train_write(NULL, s.ctx, folder_path("torn"), s.p.data, &s.o, true));
    folder_check_same("torn", &s.whole);
    free(journal.data);
    scene_free(&s);
}

static void test_in_memory(void **state) {
    (void)state;
    scene s;
    scene_init(&s, 2);
    ll_network *network, *again;
    CHECK_OK(s.ctx, ll_train(&network, s.ctx, s.p.data, &s.o));
    assert_string_equal(ll_network_text(network), "mlp:7,5");
    assert_int_equal(ll_network_features(network), 5);
    assert_int_equal(ll_network_classes(network), 3);
    int64_t held, count;
    const int64_t *holdout = ll_network_holdout(network, &held);
    assert_int_equal(held, 15);
    for (int64_t i = 1; i < held; i++)
        assert_true(holdout[i] > holdout[i - 1] && holdout[i] < s.p.N);
    const ll_epoch *epochs = ll_network_epochs(network, &count);
    assert_int_equal(count, 5);
    assert_true(epochs[4].nll < epochs[0].nll && epochs[0].epoch == 1);
    CHECK_OK(s.ctx, ll_network_write(s.ctx, folder_path("copy"), network));
    folder_check_same("copy", &s.whole);
    CHECK_OK(s.ctx, ll_network_read(&again, s.ctx, folder_path("copy")));
    CHECK_OK(s.ctx, ll_network_write(s.ctx, folder_path("copy"), again));
    folder_check_same("copy", &s.whole);
    ll_network_score a, b;
    CHECK_OK(s.ctx, ll_network_evaluate(&a, s.ctx, network, s.p.data));
    CHECK_OK(s.ctx, ll_network_evaluate(&b, s.ctx, again, s.p.data));
    assert_true(a.n == 150 && a.nll == b.nll && a.accuracy == b.accuracy && a.accuracy > 0.5);
    ll_network_free(again);
    ll_network_free(network);
    scene_free(&s);
}

static void encode_in_little_memory(ll_context *ctx, const ll_network *network, const ll_encode_data *data) {
    ll_encoded *encoded;
    ll_status status = LL_ERR_MEMORY;
    for (int64_t n = 1; status != LL_OK; n++) {
        lli_memory_fail_at(ctx, n);
        status = ll_encode(&encoded, ctx, network, data, NULL);
        lli_memory_fail_at(ctx, 0);
        assert_int_equal(status, encoded ? LL_OK : LL_ERR_MEMORY);
    }
    ll_encoded_free(encoded);
}

/* Features of files and of memory; every allocation that can fail does, and leaves nothing behind. */
static void test_memory(void **state) {
    (void)state;
    scene s;
    scene_init(&s, 1);
    s.o.epochs = 1;
    int64_t failures = 0;
    for (int64_t n = 1;; n++) {
        lli_memory_fail_at(s.ctx, n);
        ll_network *network = NULL;
        ll_status status = ll_train_write(&network, s.ctx, folder_path("poor"), s.p.data, &s.o, false);
        lli_memory_fail_at(s.ctx, 0);
        if (status == LL_OK) {
            const ll_encode_data data = {.train = s.p.data, .out = s.p.data};
            lli_memory_fail_at(s.ctx, failures % 20 + 1);
            assert_int_equal(ll_encode_write(s.ctx, folder_path("poor.npz"), network, &data, NULL), LL_ERR_MEMORY);
            lli_memory_fail_at(s.ctx, 0);
            CHECK_OK(s.ctx, ll_encode_write(s.ctx, folder_path("poor.npz"), network, &data, NULL));
            encode_in_little_memory(s.ctx, network, &data);
            ll_network_free(network);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(network);
        assert_false(folder_has("poor"));
        unlink(folder_path("poor.partial")); /* one after the epoch is there to be resumed */
        failures++;
    }
    assert_true(failures > 30);
    scene_free(&s);
}

static void test_refused(void **state) {
    (void)state;
    scene s;
    scene_init(&s, 1);
    ll_network *network;
    ll_train_options o = s.o;
    o.struct_size--;
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "ll_train_options_default()", ll_train(&network, s.ctx, s.p.data, &o));
    o = s.o;
    o.augment = "flip";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "plain features", ll_train(&network, s.ctx, s.p.data, &o));
    o = s.o;
    o.batch_size = 0;
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "batch_size is 0", ll_train(&network, s.ctx, s.p.data, &o));
    o = s.o;
    o.augment = NULL;
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "must not be NULL", ll_train(&network, s.ctx, s.p.data, &o));
    CHECK_OK(s.ctx, ll_train(&network, s.ctx, s.p.data, &s.o));
    problem other = problem_new(s.ctx, 40, 8, 3), more = problem_new(s.ctx, 40, 9, 4);
    ll_network_score score;
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "8 features and the network mlp:7,5 expects 9",
                ll_network_evaluate(&score, s.ctx, network, other.data));
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "but the network has 3 classes", ll_network_evaluate(&score, s.ctx, network, more.data));
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "nothing to encode",
                ll_encode_write(s.ctx, folder_path("f.npz"), network, &(ll_encode_data){0}, NULL));
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "the test rows have 8 features",
                ll_encode_write(s.ctx, folder_path("f.npz"), network, &(ll_encode_data){.test = other.data}, NULL));
    problem_free(&other);
    problem_free(&more);
    ll_network_free(network);
    scene_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),    cmocka_unit_test(test_torn_journal), cmocka_unit_test(test_in_memory),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
