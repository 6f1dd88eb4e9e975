/* SPDX-License-Identifier: MIT */
/* What methods make of networks: members are those of chains that this test runs itself, each network of a deep ensemble from its own start
 * by the recipe; and what the record of an ensemble of networks says. */
#include "base/text.h"
#include "scene.h"
#include "train/recipe.h"

/* With a network of two layers in place of the head. */
typedef struct deep {
    scene s;
    lli_network *network;
    lli_recipe recipe;
    int64_t floats, augmented;
    float *theta;
} deep;

/* Keeps count of rows, and moves each by what the options say. */
static void augment(float *image, const float *raw, int64_t h, int64_t w, int64_t c, uint64_t seed, int64_t epoch, int64_t index,
                    const void *options) {
    (void)seed, (void)epoch, (void)index;
    for (int64_t i = 0; i < h * w * c; i++)
        image[i] = raw[i] + *(const float *)options;
}

static void deep_init(deep *d, const char *method, const char *optimiser) {
    scene_init(&d->s, method);
    CHECK_OK(d->s.ctx, lli_network_new(&d->network, d->s.ctx, "mlp:4", 1, D, 1, K));
    const lli_model *model = lli_network_model(d->network);
    ll_train_options o = ll_train_options_default("mlp:4");
    o.epochs = 2;
    o.batch_size = 20;
    o.optimiser = optimiser;
    CHECK_OK(d->s.ctx, lli_recipe_init(d->s.ctx, &d->recipe, &o, N));
    d->floats = model->floats;
    d->theta = problem_room(model->floats, sizeof *d->theta);
    lli_network_start(d->network, d->theta, 3, 0);
    d->s.star = (lli_theta_star){.model = model,
                                 .theta = d->theta,
                                 .init = "network",
                                 .hash = "abc",
                                 .gradient_norm = NAN,
                                 .network = d->network,
                                 .input = {1, D, 1},
                                 .scaling = {0, 1},
                                 .recipe = &d->recipe};
}

static void deep_free(deep *d) {
    scene_free(&d->s);
    lli_network_free(d->network);
    free(d->theta);
}

static void deep_fit(deep *d) {
    ll_fit_options o;
    lli_ensemble_plan plan;
    lli_store_memory store;
    lli_meter meter;
    lli_fit f;
    scene *s = &d->s;
    CHECK_OK(s->ctx, lli_fit_resolve(s->ctx, &o, &s->o, s->p.data, true));
    CHECK_OK(s->ctx, lli_fit_plan(s->ctx, &plan, &o, s->p.data, &s->star));
    CHECK_OK(s->ctx, lli_ensemble_new(&s->e, s->ctx, &plan));
    lli_store_memory_init(&store, s->e);
    CHECK_OK(s->ctx, lli_fit_init(s->ctx, &f, lli_method_find(o.method), &o, &s->star, s->p.data, &store.store, &meter));
    s->steps = f.method->steps(&f);
    lli_meter_init(&meter, o.method, s->steps);
    CHECK_OK(s->ctx, lli_fit_run(s->ctx, &f));
    CHECK_NEAR(s->done, (double)s->steps, 0);
    lli_fit_release(&f);
}

static void check_deep(const deep *d, int64_t member, const float *theta) {
    const lli_model *m = d->s.star.model;
    float *block = problem_room(lli_model_tensor_floats(m), sizeof *block), *tensors[LLI_TENSORS_MAX];
    lli_model_place_tensors(tensors, m, block);
    m->ops->unpack(m, tensors, theta);
    for (int t = 0; t < m->tensors; t++)
        assert_memory_equal(d->s.e->tensor[t] + member * m->tensor[t].count, tensors[t], (size_t)m->tensor[t].count * sizeof(float));
    free(block);
}

/* Chains on a network, with the rows as its input and their augmentation. */
static void test_chains(void **state) {
    (void)state;
    static const char *const methods[] = {"sgld", "dropout", "ensemble", "ensemble"};
    for (int c = 0; c < 8; c++) {
        static const float moved = 0.25f;
        deep d;
        deep_init(&d, methods[c / 2], c / 2 == 2 ? "adam" : "nesterov");
        bool recipe = c >= 4, shifts = c % 2;
        d.s.o.dropout_at = "own";
        d.s.o.shuffle = recipe && shifts ? "independent" : "full";
        d.s.star.augment = shifts ? augment : NULL;
        d.s.star.augment_options = &moved;
        deep_fit(&d);
        assert_int_equal(d.s.steps, recipe ? 6 * 2 * 5 : c >= 2 ? 3 * STEPS : 2 * STEPS + 6 * 3);
        assert_int_equal(d.s.e->plan.drop_own, methods[c / 2][0] == 'd');
        assert_int_equal(lli_fit_floats(lli_method_find(methods[c / 2]), &d.s.star), d.floats * (c / 2 == 2 ? 3 : c / 2 == 3 ? 2 : 1));
        for (int64_t member = 0; member < d.s.e->plan.stored; member++) {
            lli_chain *chain;
            lli_chain_options o = recipe ? d.recipe.chain
                                         : (lli_chain_options){.optimiser = c < 2 ? &lli_optimiser_sgld : &lli_optimiser_sgd,
                                                               .lr = 0.1,
                                                               .lr_power = 0.55,
                                                               .batch_size = B,
                                                               .prior_precision = 1};
            o.seed = 17;
            o.member = recipe ? member : 0;
            o.independent = recipe && shifts;
            o.drop16 = c == 2 || c == 3 ? 32768 : 0;
            o.drop_own = o.drop16;
            CHECK_OK(d.s.ctx, lli_chain_new(&chain, d.s.ctx, d.s.star.model, d.s.p.data, o.optimiser->rule, o.batch_size, 0, false));
            lli_ensemble_apply_input(&chain->rows, &d.s.star.input, d.s.star.scaling);
            chain->rows.augment = d.s.star.augment;
            chain->rows.augment_options = &moved;
            float *start = problem_room(d.floats, sizeof *start);
            memcpy(start, d.theta, (size_t)d.floats * sizeof *start);
            if (recipe)
                lli_network_start(d.network, start, 17, member);
            lli_chain_start(chain, &o, start);
            CHECK_OK(d.s.ctx, lli_chain_run(d.s.ctx, chain, recipe ? 2 * 5 : c >= 2 ? 3 * STEPS : 2 * STEPS + 3 * (member + 1)));
            check_deep(&d, member, chain->theta);
            free(start);
            lli_chain_free(chain);
        }
        deep_free(&d);
    }
}

/* The entries after `init`: the net, its input and outputs, what comes with theta*, and the recipe, which theta* or the members have. */
static void test_record(void **state) {
    (void)state;
    static const struct {
        const char *method, *init, *keys;
    } rows[] = {
        {"point", "network",
         "format version method prior-precision isa features_sha256 labels_sha256 init head_sha256 net input outputs of"},
        {"dropout", "network",
         "format version method samples lr batch-size epochs dropout prior-precision seed lr-t0 lr-power shuffle dropout-at key drop16 isa "
         "features_sha256 labels_sha256 init head_sha256 net input outputs of"},
        {"ensemble", "network",
         "format version method samples seed shuffle isa features_sha256 labels_sha256 init head_sha256 net input outputs of train-epochs "
         "train-optimiser train-lr train-batch-size train-l2 train-lr-every train-lr-decay train-augment train-keep train-no-holdout"},
        {"point", "adam",
         "format version method prior-precision isa features_sha256 labels_sha256 init head_sha256 net input outputs of train-epochs "
         "train-optimiser train-lr train-batch-size train-l2 train-lr-every train-lr-decay train-augment train-keep train-no-holdout "
         "train-seed"},
    };
    static const ll_meta about[] = {{"of", "a test"}};
    for (size_t r = 0; r < LLI_COUNT(rows); r++) {
        deep d;
        deep_init(&d, rows[r].method, "adam");
        d.s.star.init = rows[r].init;
        d.s.star.about = about;
        d.s.star.about_count = 1;
        d.s.star.scaling[0] = 3;
        d.s.star.scaling[1] = 4;
        d.s.o.dropout_at = "own";
        deep_fit(&d);
        const lli_ensemble_plan *plan = &d.s.e->plan;
        const lli_provenance *p = &plan->provenance;
        char keys[1000] = "";
        for (int64_t i = 0; i < p->count; i++)
            snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s%s", i ? " " : "", p->pairs[i].key);
        assert_string_equal(keys, rows[r].keys);
        assert_string_equal(lli_provenance_get(p, "format"), LLI_ENSEMBLE_FORMAT_NETWORK);
        assert_string_equal(lli_provenance_get(p, "net"), "mlp:4");
        assert_string_equal(lli_provenance_get(p, "input"), "1x5x1");
        assert_string_equal(lli_provenance_get(p, "outputs"), "3");
        assert_string_equal(lli_provenance_get(p, "of"), "a test");
        assert_string_equal(plan->net, "mlp:4");
        if (strcmp(rows[r].method, "dropout") == 0)
            assert_string_equal(lli_provenance_get(p, "dropout-at"), "own");
        assert_true(plan->input.height == 1 && plan->input.width == D && plan->input.channels == 1);
        assert_true(plan->scaling[0] == 3 && plan->scaling[1] == 4);
        deep_free(&d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
