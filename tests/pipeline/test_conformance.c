/* SPDX-License-Identifier: MIT */
/* What holds for every method of the table: shapes, seeds, threads, thinning, weights, prior, divergence, memory. */
#include <math.h>

#include "check.h"
#include "data/dataset.h"
#include "ensemble/ensemble.h"
#include "capability.h"
#include "folder.h"
#include "model/head.h"
#include "problem.h"
#include "train/chain.h"

enum { MEMBERS = 6 };

static ll_fit_options options_for(const char *method) {
    ll_fit_options o = ll_fit_options_default();
    o.method = method;
    o.samples = MEMBERS;
    o.lr = 0.1;
    o.batch_size = 32;
    o.epochs = 2;
    o.seed = 3;
    return o;
}

static ll_ensemble *fit(ll_context *ctx, const problem *p, const ll_head *head, const ll_fit_options *o) {
    ll_ensemble *e;
    char kept[LLI_HASH_TEXT], anew[LLI_HASH_TEXT];
    CHECK_OK(ctx, ll_fit(&e, ctx, p->data, head, o));
    lli_ensemble_hash(e, kept);
    CHECK_OK(ctx, lli_ensemble_hash_anew(ctx, e, anew));
    assert_string_equal(kept, anew);
    return e;
}

static const float *member(const ll_ensemble *e, int64_t s) {
    return (const float *)ll_ensemble_weight_view(e).data + s * e->plan.K * e->plan.D;
}

static bool same_member(const ll_ensemble *a, int64_t s, const ll_ensemble *b, int64_t t) {
    int64_t K = a->plan.K, D = a->plan.D;
    return memcmp(member(a, s), member(b, t), (size_t)(K * D) * sizeof(float)) == 0 &&
           memcmp((const float *)ll_ensemble_bias_view(a).data + s * K, (const float *)ll_ensemble_bias_view(b).data + t * K,
                  (size_t)K * sizeof(float)) == 0;
}

static bool same_ensemble(const ll_ensemble *a, const ll_ensemble *b) {
    if (a->plan.S != b->plan.S || a->plan.stored != b->plan.stored)
        return false;
    for (int64_t s = 0; s < a->plan.stored; s++)
        if (!same_member(a, s, b, s))
            return false;
    return memcmp(a->plan.weight, b->plan.weight, (size_t)a->plan.S * sizeof(double)) == 0 &&
           memcmp(a->fingerprint, b->fingerprint, (size_t)a->plan.stored * sizeof *a->fingerprint) == 0;
}

static bool is_head(const ll_ensemble *e, int64_t s, const ll_head *head) {
    return memcmp(member(e, s), head->W, (size_t)(head->K * head->D) * sizeof(float)) == 0;
}

static double norm(const ll_ensemble *e) {
    double sum = 0;
    for (int64_t i = 0; i < e->plan.stored * e->plan.K * e->plan.D; i++)
        sum += (double)member(e, 0)[i] * (double)member(e, 0)[i];
    return sqrt(sum / (double)e->plan.stored);
}

typedef void one_method(ll_context *ctx, problem *p, const char *method, ll_fit_options o);

static void each_method(one_method *check, int threads, int64_t N) {
    for (size_t i = 0; i < ll_method_count(); i++) {
        if (!applies(ll_method_get(i)->name, LLI_PLACE_HEAD))
            continue; /* test_networks.c */
        ll_context *ctx = check_context(threads);
        problem p = problem_new(ctx, N, 6, 3);
        check(ctx, &p, ll_method_get(i)->name, options_for(ll_method_get(i)->name));
        problem_free(&p);
        ll_context_free(ctx);
    }
}

/* Every row is whole: what it reads are rows of the option table, it applies somewhere, and what is prepared is released. */
static void test_table(void **state) {
    (void)state;
    size_t count;
    const ll_option *table = ll_fit_options_table(&count);
    for (size_t i = 0; i < ll_method_count(); i++) {
        const char *name = ll_method_get(i)->name;
        const lli_method *m = lli_method_find(name);
        assert_ptr_equal(&m->info, ll_method_get(i)); /* no name twice */
        assert_true(strlen(m->info.summary) > 5);
        assert_true(m->info.samples >= 1);
        assert_true(m->places != 0 && (m->places & ~(unsigned)LLI_PLACES_ALL) == 0);
        bool grouped = false;
        for (int g = 0; g < LLI_GROUPS; g++)
            grouped = grouped || (m->info.group && strcmp(m->info.group, lli_method_groups[g]) == 0);
        assert_true(grouped);
        assert_int_equal(strcmp(m->info.group, LLI_GROUP_POINT) == 0, !reads_option(name, LLI_READS(samples)));
        for (const lli_variant *v = m->variants; v && v->name; v++) {
            ll_fit_options o = ll_fit_options_default();
            assert_true(lli_method_reads(m, v->option) && !lli_method_variant_is_set(v, &o) && (v->places & m->places) == v->places);
            lli_method_variant_set(v, &o);
            assert_true(lli_method_variant_is_set(v, &o) && v->simplicity < 10); /* behind all that have a place in the order */
        }
        assert_int_equal(m->prepare != NULL, m->release != NULL);
        assert_int_equal(m->info.epochs > 0, reads_option(name, LLI_READS(epochs)));
        for (const size_t *p = m->reads; *p; p++) {
            int rows = 0;
            for (size_t r = 0; r < count; r++)
                if (table[r].offset == *p) {
                    rows++;
                    assert_true(ll_method_uses(name, table[r].name));
                }
            assert_int_equal(rows, 1);
        }
        for (size_t r = 0; r < count; r++)
            assert_int_equal(ll_method_uses(name, table[r].name), lli_method_reads(m, table[r].offset));
        assert_false(ll_method_uses(name, "method") || ll_method_uses(name, "l") || ll_method_uses(name, ""));
    }
    assert_false(ll_method_uses("nothing", "lr"));
    assert_null(lli_method_find("nothing"));
}

/* The defaults that make a bare --method work. */
static void test_defaults(void **state) {
    (void)state;
    static const struct {
        const char *method;
        int64_t samples, epochs;
    } defaults[] = {{"point", 1, 0},       {"map", 1, 0},       {"laplace", 100, 0},  {"sgd", 100, 0},
                    {"sgld", 100, 0},      {"sghmc", 100, 0},   {"hmc", 100, 0},      {"bootstrap", 10, 10},
                    {"dropout", 100, 100}, {"ensemble", 10, 0}, {"cyclical", 100, 0}, {"psgld", 100, 0}};
    for (size_t i = 0; i < LLI_COUNT(defaults); i++) {
        const lli_method *m = lli_method_find(defaults[i].method);
        assert_int_equal(m->info.samples, defaults[i].samples);
        assert_int_equal(m->info.epochs, defaults[i].epochs);
    }
    ll_fit_options o = ll_fit_options_default();
    assert_int_equal(o.batch_size, 128);
    CHECK_NEAR(o.dropout, 0.5, 0);
    CHECK_NEAR(o.prior_precision, 1, 0);
    CHECK_NEAR(o.lr_power, 0.55, 0);
}

/* A row says where its method applies; elsewhere it is refused. */
static void test_places(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const lli_method head = {.info = {.name = "narrow"}, .places = LLI_PLACE_HEAD};
    const lli_method network = {.info = {.name = "wide"}, .places = LLI_PLACE_DEEP_HEAD | LLI_PLACE_NETWORK};
    CHECK_OK(ctx, lli_method_check(ctx, &head, LLI_PLACE_HEAD));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "the method narrow does not work on several layers: leave out layers",
                lli_method_check(ctx, &head, LLI_PLACE_DEEP_HEAD));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "the method narrow does not work on whole networks: encode the images with lastlayer encode",
                lli_method_check(ctx, &head, LLI_PLACE_NETWORK));
    CHECK_OK(ctx, lli_method_check(ctx, &network, LLI_PLACE_DEEP_HEAD));
    CHECK_OK(ctx, lli_method_check(ctx, &network, LLI_PLACE_NETWORK));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "the method wide trains whole networks: give network, or at least layers=2",
                lli_method_check(ctx, &network, LLI_PLACE_HEAD));
    assert_int_equal(lli_place_of(false, 1), LLI_PLACE_HEAD);
    assert_int_equal(lli_place_of(true, 2), LLI_PLACE_DEEP_HEAD);
    assert_int_equal(lli_place_of(true, 1), LLI_PLACE_NETWORK);
    ll_context_free(ctx);
}

static void check_shapes(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    ll_ensemble *e = fit(ctx, p, p->head, &o);
    int64_t S = reads_option(method, LLI_READS(samples)) ? MEMBERS : row_of(method)->info.samples;
    int64_t stored = has_masks(method) || has_draws(method) ? 1 : S;
    assert_int_equal(ll_ensemble_samples(e), S);
    assert_int_equal(ll_ensemble_classes(e), 3);
    assert_int_equal(ll_ensemble_features(e), 6);
    assert_string_equal(ll_ensemble_method(e), method);
    ll_array W = ll_ensemble_weight_view(e);
    ll_array b = ll_ensemble_bias_view(e);
    assert_int_equal(W.dtype, LL_DTYPE_F32);
    assert_int_equal(W.rank, 3);
    assert_int_equal(W.shape[0], stored);
    assert_int_equal(W.shape[1], 3);
    assert_int_equal(W.shape[2], 6);
    assert_int_equal(b.rank, 2);
    assert_int_equal(b.shape[0], stored);
    assert_int_equal(b.shape[1], 3);
    for (int64_t s = 0; s < stored; s++) {
        assert_int_equal(is_head(e, s, p->head), !stores_random(method) && !refits(method)); /* all others leave theta* */
        for (int64_t t = 0; t < s; t++)
            if (has_chains(method))
                assert_false(same_member(e, s, e, t));
            else if (same_member(e, s, e, t)) /* a draw that was rejected is the one before it again */
                assert_true(same_member(e, s, e, s - 1));
    }
    if (stored > 1)
        assert_false(same_member(e, 0, e, stored - 1));
    for (int64_t s = 0; s < S; s++)
        CHECK_NEAR(e->plan.weight[s], 1, 0);
    ll_ensemble_free(e);
}

static void test_shapes(void **state) {
    (void)state;
    each_method(check_shapes, 1, 300);
}

/* A refitted head is that of ll_head_solve, to the bit, wherever theta* is; classes of theta* without rows stay. */
static void check_refit(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    if (!refits(method))
        return;
    o.prior_precision = 3;
    ll_head_solve_options s = ll_head_solve_options_default();
    s.prior_precision = 3;
    ll_head *head, *wide = problem_head(ctx, p->K + 1, p->D, 5, 0.25f);
    CHECK_OK(ctx, ll_head_solve(&head, ctx, p->data, &s));
    ll_ensemble *given = fit(ctx, p, p->head, &o), *found = fit(ctx, p, NULL, &o), *more = fit(ctx, p, wide, &o);
    assert_true(is_head(given, 0, head) && is_head(found, 0, head));
    assert_memory_equal(ll_ensemble_bias_view(given).data, head->b, (size_t)p->K * sizeof(float));
    assert_int_equal(ll_ensemble_classes(more), p->K + 1);
    assert_true(((const float *)ll_ensemble_bias_view(more).data)[p->K] < -1); /* nothing speaks for it */
    ll_ensemble_free(given);
    ll_ensemble_free(found);
    ll_ensemble_free(more);
    ll_head_free(head);
    ll_head_free(wide);
}

static void test_refit(void **state) {
    (void)state;
    each_method(check_refit, 2, 300);
}

/* Each member is what its chain gives: which rows, noise and masks a method uses, for which member number, from where to where. */
static void check_chains(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    if (!has_chains(method) || has_own_samples(method))
        return;
    o.thin = 7;
    o.burn_in = 1;
    o.dropout = 0.25;
    o.prior_precision = 3;
    ll_ensemble *e = fit(ctx, p, p->head, &o);
    lli_model model;
    CHECK_OK(ctx, lli_head_model(ctx, &model, p->K, p->D));
    float *start = problem_room(model.floats, sizeof *start), *W = problem_room(p->K * p->D, sizeof *W), *b = problem_room(p->K, sizeof *b);
    model.ops->pack(&model, start, (const float *const[]){p->head->W, p->head->b});
    bool resampled = is_resampled(method);
    lli_chain *chain;
    CHECK_OK(ctx, lli_chain_new(&chain, ctx, &model, p->data, row_of(method)->optimiser->rule, 32, 0, resampled));
    for (int64_t s = 0; s < e->plan.stored; s++) {
        lli_chain_options c = {.lr = 0.1, .lr_power = 0.55, .batch_size = 32, .prior_precision = 3, .seed = 3, .member = resampled ? s : 0};
        c.optimiser = row_of(method)->optimiser;
        c.drop16 = has_masks(method) ? 16384 : 0;
        c.resampled = resampled;
        c.independent = strcmp(o.shuffle, "independent") == 0;
        lli_chain_start(chain, &c, start);
        CHECK_OK(ctx, lli_chain_run(ctx, chain, is_sampled(method) ? 10 * (1 + resting(method)) + 7 * (s + 1) : 2 * 10));
        model.ops->unpack(&model, (float *const[]){W, b}, chain->theta);
        assert_memory_equal(W, member(e, s), (size_t)(p->K * p->D) * sizeof *W);
        assert_memory_equal(b, (const float *)ll_ensemble_bias_view(e).data + s * p->K, (size_t)p->K * sizeof *b);
    }
    lli_chain_free(chain);
    free(start);
    free(W);
    free(b);
    ll_ensemble_free(e);
}

static void check_independent_chains(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    o.shuffle = "independent";
    check_chains(ctx, p, method, o);
}

static void test_chains(void **state) {
    (void)state;
    each_method(check_chains, 1, 300);
    each_method(check_independent_chains, 1, 300);
}

/* Members that exist only in prediction, masks and draws, differ there too, and with the seed. */
static void check_unstored(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    if (!has_masks(method) && !has_draws(method))
        return;
    ll_ensemble *e = fit(ctx, p, p->head, &o);
    ll_predictor *predictor;
    CHECK_OK(ctx, ll_predictor_new(&predictor, ctx, e));
    float pmax[50 * MEMBERS];
    ll_prediction out = {.member_pmax = pmax};
    CHECK_OK(ctx, ll_predictor_run(&out, predictor, p->z, 50, 0));
    for (int s = 1; s < MEMBERS; s++) {
        int differ = 0;
        for (int i = 0; i < 50; i++)
            differ += pmax[i * MEMBERS + s] != pmax[i * MEMBERS];
        assert_true(differ > 40); /* two masks of six units are equal in 1 of 64 rows */
    }
    ll_predictor_free(predictor);
    ll_ensemble_free(e);
}

static void test_unstored_members(void **state) {
    (void)state;
    each_method(check_unstored, 1, 300);
}

static void check_seeds(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    ll_ensemble *first = fit(ctx, p, p->head, &o);
    ll_ensemble *again = fit(ctx, p, p->head, &o);
    assert_true(same_ensemble(first, again));
    static const uint64_t seeds[] = {4, 3 + ((uint64_t)1 << 32), UINT64_MAX};
    for (size_t i = 0; i < LLI_COUNT(seeds); i++) {
        o.seed = seeds[i];
        ll_ensemble *other = fit(ctx, p, p->head, &o);
        for (int64_t s = 0; s < first->plan.stored; s++)
            assert_int_equal(same_member(first, s, other, s), !stores_random(method));
        ll_ensemble_free(other);
    }
    ll_ensemble_free(first);
    ll_ensemble_free(again);
}

static void test_seeds(void **state) {
    (void)state;
    each_method(check_seeds, 1, 300);
}

/* With the MAP as start, over several slices of rows: the same bits in memory, and the same bytes in files. */
static void test_threads(void **state) {
    (void)state;
    for (size_t m = 0; m < ll_method_count(); m++) {
        const char *method = ll_method_get(m)->name;
        if (!applies(method, LLI_PLACE_HEAD))
            continue;
        ll_fit_options o = options_for(method);
        ll_ensemble *first = NULL;
        folder_bytes bytes = {NULL, 0};
        for (int threads = 1; threads <= 3; threads++) {
            ll_context *ctx = check_context(threads);
            assert_int_equal(ll_context_threads(ctx), threads);
            problem p = problem_new(ctx, 900, 6, 3);
            ll_ensemble *e = fit(ctx, &p, NULL, &o);
            CHECK_OK(ctx, ll_fit_write(NULL, ctx, folder_path("e.safetensors"), p.data, NULL, &o, false));
            assert_false(folder_has("e.safetensors.partial"));
            CHECK_OK(ctx, ll_ensemble_write(ctx, folder_path("memory.safetensors"), e));
            if (threads == 1) {
                first = e;
                bytes = folder_read("e.safetensors");
            } else {
                assert_true(same_ensemble(e, first));
                ll_ensemble_free(e);
            }
            folder_check_same("e.safetensors", &bytes);
            folder_check_same("memory.safetensors", &bytes); /* straight to the file, or through memory */
            problem_free(&p);
            ll_context_free(ctx);
        }
        free(bytes.data);
        ll_ensemble_free(first);
    }
}

static const char *const shuffles[] = {"full", "block:50", "independent"};

/* Every way to make batches gives other members, and its own bytes for any number of threads. */
static void check_shuffles(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    ll_ensemble *made[LLI_COUNT(shuffles)];
    ll_context *others = check_context(3);
    for (size_t i = 0; i < LLI_COUNT(shuffles); i++) {
        o.shuffle = shuffles[i];
        made[i] = fit(ctx, p, p->head, &o);
        for (size_t j = 0; j < i; j++)
            for (int64_t s = 0; s < made[i]->plan.stored; s++)
                assert_int_equal(same_member(made[i], s, made[j], s), !reads_option(method, LLI_READS(shuffle)));
        ll_ensemble *again = fit(others, p, p->head, &o);
        assert_true(same_ensemble(again, made[i]));
        ll_ensemble_free(again);
        const char *recorded = lli_provenance_get(&made[i]->plan.provenance, "shuffle");
        assert_true(!reads_option(method, LLI_READS(shuffle)) ? !recorded : strcmp(recorded, shuffles[i]) == 0);
    }
    for (size_t i = 0; i < LLI_COUNT(shuffles); i++)
        ll_ensemble_free(made[i]);
    ll_context_free(others);
}

static void test_shuffles(void **state) {
    (void)state;
    each_method(check_shuffles, 1, 300);
}

/* Fewer samples are a prefix of more; every second sample of thin 1 is thin 2; a burn-in skips. */
static void check_chain_samples(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    if (is_sampled(method) || is_resampled(method)) {
        o.samples = 20;
        o.thin = 3;
        ll_ensemble *many = fit(ctx, p, p->head, &o);
        o.samples = 10;
        ll_ensemble *few = fit(ctx, p, p->head, &o);
        for (int64_t s = 0; s < 10; s++)
            assert_true(same_member(few, s, many, s));
        ll_ensemble_free(few);
        ll_ensemble_free(many);
    }
    if (is_sampled(method)) {
        o.samples = 40;
        o.thin = 1;
        ll_ensemble *each = fit(ctx, p, p->head, &o);
        o.samples = 20;
        o.thin = 2;
        ll_ensemble *second = fit(ctx, p, p->head, &o);
        o.samples = 4;
        o.thin = 0; /* an epoch: 10 steps, of which the last has 12 rows */
        ll_ensemble *epochs = fit(ctx, p, p->head, &o);
        o.samples = 3;
        o.thin = 5;
        o.burn_in = 2;
        ll_ensemble *burnt = fit(ctx, p, p->head, &o);
        for (int64_t s = 0; s < 20; s++)
            assert_true(same_member(second, s, each, 2 * s + 1));
        for (int64_t s = 0; s < 4; s++)
            assert_true(same_member(epochs, s, each, 10 * s + 9));
        for (int64_t s = 0; s < 3; s++)
            assert_true(same_member(burnt, s, each, 20 + 5 * s + 4));
        ll_ensemble_free(each);
        ll_ensemble_free(second);
        ll_ensemble_free(epochs);
        ll_ensemble_free(burnt);
    }
}

static void test_chain_samples(void **state) {
    (void)state;
    each_method(check_chain_samples, 1, 300);
}

/* Several chains: the first is the only one of fewer members, the others are other chains; the file of one chain does not mention them. */
static void check_many_chains(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    ll_ensemble *none;
    if (!reads_option(method, LLI_READS(chains))) {
        o.chains = 3;
        CHECK_FAILS(ctx, LL_ERR_USAGE, "has no chains that its members share: leave out chains=3",
                    ll_fit(&none, ctx, p->data, p->head, &o));
        return;
    }
    ll_ensemble *made[3];
    ll_context *others = check_context(3);
    o.lr_t0 = 9;
    for (int chains = 1; chains <= 3; chains++) {
        o.chains = chains;
        o.samples = 2 * chains;
        made[chains - 1] = fit(ctx, p, p->head, &o);
        ll_ensemble *again = fit(others, p, p->head, &o);
        assert_true(same_ensemble(again, made[chains - 1]));
        ll_ensemble_free(again);
    }
    for (int64_t s = 0; s < 6; s++) {
        assert_true(s >= 2 || same_member(made[0], s, made[2], s));
        assert_true(s >= 4 || same_member(made[1], s, made[2], s));
        CHECK_NEAR(made[2]->plan.weight[s], made[0]->plan.weight[s % 2], 0);
        for (int64_t t = 0; t < s; t++)
            assert_false((has_chains(method) || s / 2 != t / 2) && same_member(made[2], s, made[2], t));
    }
    assert_null(lli_provenance_get(&made[0]->plan.provenance, "chains"));
    assert_string_equal(lli_provenance_get(&made[2]->plan.provenance, "chains"), "3");
    o.samples = 7;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "samples=7 cannot be divided equally among chains=3", ll_fit(&none, ctx, p->data, p->head, &o));
    for (int i = 0; i < 3; i++)
        ll_ensemble_free(made[i]);
    ll_context_free(others);
}

static void test_many_chains(void **state) {
    (void)state;
    each_method(check_many_chains, 1, 300);
}

/* With a decreasing schedule, sample i of sgld weighs the lr of the step that made it; all others weigh 1. The file keeps it. */
static void check_weights(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    o.lr_t0 = 7;
    o.thin = 4;
    o.burn_in = 1;
    ll_ensemble *e = fit(ctx, p, p->head, &o);
    for (int64_t s = 0; s < e->plan.S; s++) {
        double step = 10 + 4 * (double)s + 3;
        CHECK_NEAR(e->plan.weight[s], row_of(method)->weight ? 0.1 * pow(1 + step / 7, -0.55) : 1, 1e-15);
    }
    CHECK_OK(ctx, ll_ensemble_write(ctx, folder_path("w.safetensors"), e));
    ll_ensemble *back;
    CHECK_OK(ctx, ll_ensemble_read(&back, ctx, folder_path("w.safetensors")));
    assert_true(same_ensemble(e, back));
    assert_string_equal(ll_ensemble_method(back), method);
    assert_int_equal(back->plan.drop16, e->plan.drop16);
    if (has_masks(method))
        assert_int_equal(back->plan.seed, 3);
    ll_ensemble_free(e);
    ll_ensemble_free(back);
}

static void test_weights(void **state) {
    (void)state;
    each_method(check_weights, 1, 300);
}

static void check_prior_shrinks(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    o.prior_precision = 0.1;
    ll_ensemble *loose = fit(ctx, p, NULL, &o);
    o.prior_precision = 300;
    ll_ensemble *tight = fit(ctx, p, NULL, &o);
    if (!is_noisy(method))
        assert_true(norm(tight) < 0.7 * norm(loose));
    else /* its noise does not shrink at once, its drift does */
        assert_true(norm(tight) < 0.9 * norm(loose));
    ll_ensemble_free(loose);
    ll_ensemble_free(tight);
}

static void test_prior_shrinks(void **state) {
    (void)state;
    each_method(check_prior_shrinks, 1, 300);
}

static void check_auto_lr(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    o.lr = 0;
    ll_ensemble *automatic = fit(ctx, p, p->head, &o);
    o.lr = lr_factor(method) / (1 + p->data->mean_square);
    ll_ensemble *said = fit(ctx, p, p->head, &o);
    assert_true(same_ensemble(automatic, said));
    ll_ensemble_free(automatic);
    ll_ensemble_free(said);
}

static void test_auto_lr(void **state) {
    (void)state;
    each_method(check_auto_lr, 1, 300);
}

/* Numbers that overflow: an exit code of its own, the step and the lr, no file, and the old file stays. */
static void check_divergence(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    if (has_chains(method)) {
        for (int64_t i = 0; i < p->N * p->D; i++)
            p->z[i] *= 1e17f;
        ll_dataset *huge;
        ll_array labels = ll_array_view(p->y, LL_DTYPE_I64, 1, &p->N);
        CHECK_OK(ctx, ll_dataset_new(&huge, ctx, ll_array_view(p->z, LL_DTYPE_F32, 2, (int64_t[]){p->N, p->D}), &labels, 3));
        o.lr = 1e6;
        ll_ensemble *e;
        CHECK_FAILS(ctx, LL_ERR_DIVERGED, "diverged at step ", ll_fit(&e, ctx, huge, p->head, &o));
        assert_null(e);
        assert_non_null(strstr(ll_context_message(ctx), "try a smaller lr, such as 1e+05"));
        assert_non_null(strstr(ll_context_message(ctx), "lr 1e+06"));
        CHECK_FAILS(ctx, LL_ERR_DIVERGED, "diverged at step ",
                    ll_fit_write(NULL, ctx, folder_path("new.safetensors"), huge, p->head, &o, false));
        assert_false(folder_has("new.safetensors"));
        assert_false(folder_has("new.safetensors.partial"));
        folder_write("old.safetensors", "old", 3);
        folder_bytes old = folder_read("old.safetensors");
        CHECK_FAILS(ctx, LL_ERR_DIVERGED, "diverged at step ",
                    ll_fit_write(NULL, ctx, folder_path("old.safetensors"), huge, p->head, &o, false));
        folder_check_same("old.safetensors", &old);
        assert_false(folder_has("old.safetensors.partial"));
        free(old.data);
        ll_dataset_free(huge);
    }
}

/* The loss of one epoch is above 2 ln K + the first one's: one step per epoch, from a good start, much too large. */
static void check_divergence_loss(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    if (has_chains(method)) {
        ll_head *map;
        CHECK_OK(ctx, ll_head_solve(&map, ctx, p->data, NULL));
        o.lr = 1e5;
        o.batch_size = 300;
        o.epochs = 20;
        o.samples = 20;
        ll_ensemble *e;
        CHECK_FAILS(ctx, LL_ERR_DIVERGED, "the mean training NLL of this epoch is above 2 ln K", ll_fit(&e, ctx, p->data, map, &o));
        assert_non_null(strstr(ctx->message, "lr 100000"));
        assert_non_null(strstr(ctx->message, "such as 1e+04"));
        ll_head_free(map);
    }
}

static void test_divergence(void **state) {
    (void)state;
    each_method(check_divergence, 2, 300);
    each_method(check_divergence_loss, 1, 300);
}

static void test_refusals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 60, 4, 3);
    ll_ensemble *e;
    ll_fit_options o = options_for("sgd");
    o.struct_size = 8;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "ll_fit_options_default()", ll_fit(&e, ctx, p.data, NULL, &o));
    static const struct {
        const char *option;
        size_t offset;
        bool real;
        double value;
    } bad[] = {
#define AT(member) offsetof(ll_fit_options, member)
        {"samples", AT(samples), false, -1},
        {"samples", AT(samples), false, 1 << 25},
        {"lr", AT(lr), true, -0.1},
        {"lr", AT(lr), true, NAN},
        {"lr", AT(lr), true, INFINITY},
        {"batch-size", AT(batch_size), false, 0},
        {"epochs", AT(epochs), false, -1},
        {"dropout", AT(dropout), true, 0},
        {"dropout", AT(dropout), true, 1},
        {"dropout", AT(dropout), true, NAN},
        {"thin", AT(thin), false, -1},
        {"burn-in", AT(burn_in), false, -1},
        {"lr-t0", AT(lr_t0), true, -1},
        {"lr-power", AT(lr_power), true, -1},
        {"prior-precision", AT(prior_precision), true, -1},
#undef AT
    };
    o = options_for("mcmc");
    CHECK_FAILS(ctx, LL_ERR_USAGE, "point", ll_fit(&e, ctx, p.data, p.head, &o));
    for (size_t i = 0; i < LLI_COUNT(bad); i++) { /* refused also by a method that does not use them */
        o = options_for("point");
        char *at = (char *)&o + bad[i].offset, words[40];
        if (bad[i].real)
            memcpy(at, &bad[i].value, sizeof(double));
        else
            memcpy(at, &(int64_t){(int64_t)bad[i].value}, sizeof(int64_t));
        snprintf(words, sizeof words, "%s is ", bad[i].option);
        for (char *c = words; *c; c++)
            *c = *c == '-' ? '_' : *c;
        CHECK_FAILS(ctx, LL_ERR_USAGE, words, ll_fit(&e, ctx, p.data, p.head, &o));
        assert_null(e);
    }
    o = options_for("sgd");
    o.thin = 1000000000000;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "more than 4e9 steps", ll_fit(&e, ctx, p.data, p.head, &o));
    o = options_for("sgd");
    ll_head *wide = problem_head(ctx, 3, 5, 6, 1), *narrow = problem_head(ctx, 2, 4, 6, 1);
    CHECK_FAILS(ctx, LL_ERR_DATA, "the head expects 5 features and the data have 4", ll_fit(&e, ctx, p.data, wide, &o));
    CHECK_FAILS(ctx, LL_ERR_DATA, "the label at row 2 is 2, but the head has 2 classes (0 to 1)", ll_fit(&e, ctx, p.data, narrow, &o));
    CHECK_FAILS(ctx, LL_ERR_DATA, "the label at row 2 is 2",
                ll_fit_write(NULL, ctx, folder_path("no.safetensors"), p.data, narrow, &o, false));
    assert_false(folder_has("no.safetensors") || folder_has("no.safetensors.partial"));
    ll_head_free(wide);
    ll_head_free(narrow);
    problem_free(&p);
    ll_context_free(ctx);
}

/* All memory is planned before the loops: ten times the epochs, or the steps, take not one allocation more. */
static void check_no_allocation_in_loops(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    (void)method;
    int64_t counts[2];
    for (int i = 0; i < 2; i++) {
        o.epochs = i ? 20 : 2;
        o.thin = i ? 50 : 1;
        int64_t before = lli_memory_count(ctx);
        ll_ensemble_free(fit(ctx, p, p->head, &o));
        counts[i] = lli_memory_count(ctx) - before;
    }
    assert_int_equal(counts[0], counts[1]);
    for (int i = 0; i < 2; i++) {
        o.epochs = i ? 20 : 2;
        o.thin = i ? 50 : 1;
        int64_t before = lli_memory_count(ctx);
        CHECK_OK(ctx, ll_fit_write(NULL, ctx, folder_path("count.safetensors"), p->data, p->head, &o, false));
        counts[i] = lli_memory_count(ctx) - before;
    }
    assert_int_equal(counts[0], counts[1]);
}

static void test_no_allocation_in_loops(void **state) {
    (void)state;
    each_method(check_no_allocation_in_loops, 2, 300);
}

/* Each allocation fails once: a status, a sentence, nothing leaked, no file. */
static void check_out_of_memory(ll_context *ctx, problem *p, const char *method, ll_fit_options o) {
    (void)method;
    o.samples = 3;
    o.epochs = 2;
    for (int given = 0; given < 2; given++) {
        for (int64_t n = 1;; n++) {
            ll_ensemble *e;
            lli_memory_fail_at(ctx, n);
            ll_status status = ll_fit(&e, ctx, p->data, given ? p->head : NULL, &o);
            lli_memory_fail_at(ctx, 0);
            if (status == LL_OK) {
                assert_true(n > 15);
                ll_ensemble_free(e);
                break;
            }
            assert_int_equal(status, LL_ERR_MEMORY);
            assert_null(e);
            assert_non_null(strstr(ctx->message, "memory"));
        }
        folder_clear();
        for (int64_t n = 1;; n++) {
            lli_memory_fail_at(ctx, n);
            ll_status status = ll_fit_write(NULL, ctx, folder_path("m.safetensors"), p->data, given ? p->head : NULL, &o, false);
            lli_memory_fail_at(ctx, 0);
            if (status == LL_OK)
                break;
            assert_int_equal(status, LL_ERR_MEMORY);
            assert_false(folder_has("m.safetensors"));
            unlink(folder_path("m.safetensors.partial")); /* what was reached may stay for a resume */
        }
        assert_int_equal(folder_count(), 1);
    }
}

static void test_out_of_memory(void **state) {
    (void)state;
    each_method(check_out_of_memory, 1, 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_refit),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_unstored_members),
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_chain_samples),
        cmocka_unit_test(test_many_chains),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_prior_shrinks),
        cmocka_unit_test(test_auto_lr),
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_allocation_in_loops),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
