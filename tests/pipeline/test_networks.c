/* SPDX-License-Identifier: MIT */
/* Deep heads and whole networks through every method: what holds for heads holds for them. */
#include <math.h>

#include "check.h"
#include "base/memory.h"
#include "capability.h"
#include "data/dataset.h"
#include "data/images.h"
#include "ensemble/ensemble.h"
#include "folder.h"
#include "interop/trained.h"
#include "problem.h"

enum { N = 150, D = 6, K = 3, MEMBERS = 4, SIDE = 32, IMAGES = 40 };

/* What the methods work on: a deep head, or a network that was trained. */
typedef struct subject {
    int64_t layers;
    const char *net;
    bool images;
    int tensors;
} subject;

static const subject subjects[] = {{2, NULL, false, 4}, {3, NULL, false, 6}, {1, "mlp:7,5", false, 6}, {1, "vgg16:width=0.01", true, 86}};
#define MLP (&subjects[2])
#define VGG (&subjects[3])

typedef struct scene {
    ll_context *ctx;
    problem p;
    const subject *subject;
    ll_dataset *images;     /* NULL: features */
    float *pixels;          /* [IMAGES,SIDE*SIDE] what the network makes of the bytes */
    const ll_dataset *data; /* of either */
    const float *z;         /* [n,d] */
    int64_t n, d;
    ll_network *network;
    ll_fit_options o;
} scene;

static bool is(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

/* Grey images of a bright bar whose place tells the class. */
static void make_images(scene *s) {
    enum { PIXELS = SIDE * SIDE };
    unsigned char *bytes;
    int32_t labels[IMAGES];
    int64_t count = IMAGES;
    CHECK_OK(s->ctx, lli_memory_new(s->ctx, &bytes, IMAGES * PIXELS, 1));
    s->pixels = problem_room(IMAGES * PIXELS, sizeof(float));
    for (int i = 0; i < IMAGES; i++) {
        labels[i] = i % K;
        for (int j = 0; j < PIXELS; j++) {
            int64_t at = i * PIXELS + j;
            bytes[at] = (unsigned char)(100 * check_uniform(9, at) + (j / SIDE / 11 == labels[i] ? 150 : 0));
            s->pixels[at] = (float)bytes[at] * (1 / 255.0f);
        }
    }
    CHECK_OK(s->ctx, lli_images_new(&s->images, s->ctx, bytes, IMAGES, SIDE, SIDE, 1));
    CHECK_OK(s->ctx, lli_images_seal(s->ctx, s->images, 0, 1 / 255.0));
    CHECK_OK(s->ctx, lli_dataset_take_labels(s->ctx, s->images, "labels", ll_array_view(labels, LL_DTYPE_I32, 1, &count), K));
    s->data = s->images;
    s->z = s->pixels;
    s->n = IMAGES;
    s->d = PIXELS;
}

static scene scene_new(const subject *given, const char *method, int threads) {
    scene s = {.ctx = check_context(threads), .subject = given, .o = ll_fit_options_default()};
    s.p = problem_new(s.ctx, N, D, K);
    s.data = s.p.data;
    s.z = s.p.z;
    s.n = N;
    s.d = D;
    if (given->images)
        make_images(&s);
    if (given->net) {
        ll_train_options t = ll_train_options_default(given->net);
        t.epochs = given->images ? 1 : 2;
        t.batch_size = given->images ? 16 : 32;
        t.lr = given->images ? 0.01 : t.lr;
        CHECK_OK(s.ctx, ll_train(&s.network, s.ctx, s.data, &t));
    }
    s.o.method = method;
    s.o.layers = given->layers;
    s.o.samples = MEMBERS;
    s.o.epochs = 2;
    s.o.lr = 0.05;
    s.o.batch_size = 32;
    s.o.seed = 3;
    if (given->images) { /* a step takes long */
        s.o.samples = 2;
        s.o.epochs = 1;
        s.o.lr = 0.01;
        s.o.batch_size = 16;
    }
    return s;
}

static void scene_free(scene *s) {
    ll_network_free(s->network);
    ll_dataset_free(s->images);
    free(s->pixels);
    problem_free(&s->p);
    ll_context_free(s->ctx);
}

static ll_status try_fit(ll_ensemble **e, const scene *s) {
    return s->network ? ll_fit_network(e, s->ctx, s->data, s->network, &s->o) : ll_fit(e, s->ctx, s->data, NULL, &s->o);
}

static ll_status try_write(const scene *s, ll_context *ctx, const char *path, bool resume) {
    return s->network ? ll_fit_network_write(NULL, ctx, path, s->data, s->network, &s->o, resume)
                      : ll_fit_write(NULL, ctx, path, s->data, NULL, &s->o, resume);
}

static ll_ensemble *fit(const scene *s) {
    ll_ensemble *e;
    CHECK_OK(s->ctx, try_fit(&e, s));
    return e;
}

/* Tensors in which two members differ. */
static int differing(const ll_ensemble *a, int64_t i, const ll_ensemble *b, int64_t j) {
    const lli_model *m = a->plan.model;
    int differ = 0;
    for (int t = 0; t < m->tensors; t++) {
        int64_t count = m->tensor[t].count;
        differ += memcmp(a->tensor[t] + i * count, b->tensor[t] + j * count, (size_t)count * sizeof(float)) != 0;
    }
    return differ;
}

static lli_place place_of(const subject *given) {
    return lli_place_of(true, given->layers);
}

typedef void one_case(scene *s, const char *method);

/* Under a sanitizer the last subject, a VGG, would take minutes; there tests/model/test_vgg.c has its layers. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SUBJECTS = LLI_COUNT(subjects) - 1 };
#else
enum { SUBJECTS = LLI_COUNT(subjects) };
#endif

static void each(one_case *check, int threads) {
    for (size_t i = 0; i < SUBJECTS; i++)
        for (size_t m = 0; m < ll_method_count(); m++) {
            if (!applies(ll_method_get(m)->name, place_of(&subjects[i])))
                continue;
            scene s = scene_new(&subjects[i], ll_method_get(m)->name, threads);
            check(&s, s.o.method);
            scene_free(&s);
        }
}

static void check_members(scene *s, const char *method) {
    ll_ensemble *e = fit(s);
    int tensors = e->plan.model->tensors;
    assert_int_equal(e->plan.stored, has_masks(method) || !reads_option(method, LLI_READS(samples)) ? 1 : s->o.samples);
    assert_int_equal(ll_ensemble_samples(e), reads_option(method, LLI_READS(samples)) ? s->o.samples : 1);
    assert_int_equal(ll_ensemble_features(e), s->d);
    assert_int_equal(ll_ensemble_classes(e), K);
    assert_int_equal(tensors, s->subject->tensors);
    for (int64_t i = 0; i < e->plan.stored; i++)
        for (int64_t j = 0; j < i; j++)
            assert_int_equal(differing(e, i, e, j), tensors); /* in every layer: all parameters move */
    s->o.seed = 4;
    ll_ensemble *other = fit(s);
    for (int64_t i = 0; i < e->plan.stored; i++)
        assert_int_equal(differing(e, i, other, i), !is_random(method) && s->network ? 0 : tensors);
    ll_ensemble_free(other);
    ll_ensemble_free(e);
}

static void test_members(void **state) {
    (void)state;
    each(check_members, 1);
}

/* theta* of a network is what `point` keeps; the others leave it. */
static void test_start(void **state) {
    (void)state;
    for (size_t m = 0; m < ll_method_count(); m++) {
        if (!applies(ll_method_get(m)->name, LLI_PLACE_NETWORK))
            continue;
        scene s = scene_new(MLP, ll_method_get(m)->name, 1);
        ll_ensemble *e = fit(&s);
        const lli_model *model = s.network->model;
        float *theta = problem_room(model->floats, sizeof *theta);
        const float *tensors[LLI_TENSORS_MAX];
        for (int t = 0; t < model->tensors; t++)
            tensors[t] = e->tensor[t];
        model->ops->pack(model, theta, tensors);
        assert_int_equal(memcmp(theta, s.network->theta, (size_t)model->floats * sizeof *theta) == 0, !is_random(s.o.method));
        free(theta);
        ll_ensemble_free(e);
        scene_free(&s);
    }
}

/* The same bytes for 1, 2, 3 threads, in memory and in files, and read back. */
static void test_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < SUBJECTS; i++)
        for (size_t m = 0; m < ll_method_count(); m++) {
            folder_bytes bytes = {NULL, 0};
            if (!applies(ll_method_get(m)->name, place_of(&subjects[i])))
                continue;
            for (int threads = 1; threads <= 3; threads++) {
                scene s = scene_new(&subjects[i], ll_method_get(m)->name, threads);
                ll_ensemble *e = fit(&s), *back;
                CHECK_OK(s.ctx, try_write(&s, s.ctx, folder_path("e.safetensors"), false));
                assert_false(folder_has("e.safetensors.partial"));
                CHECK_OK(s.ctx, ll_ensemble_write(s.ctx, folder_path("memory.safetensors"), e));
                if (threads == 1)
                    bytes = folder_read("e.safetensors");
                folder_check_same("e.safetensors", &bytes);
                folder_check_same("memory.safetensors", &bytes);
                CHECK_OK(s.ctx, ll_ensemble_read(&back, s.ctx, folder_path("e.safetensors")));
                for (int64_t k = 0; k < e->plan.stored; k++)
                    assert_int_equal(differing(e, k, back, k), 0);
                assert_string_equal(back->plan.net, e->plan.net);
                ll_ensemble_free(back);
                ll_ensemble_free(e);
                scene_free(&s);
            }
            free(bytes.data);
        }
}

/* Independent batches reach every method on deep heads and networks: other members, the same bytes for any number of threads. */
static void test_independent(void **state) {
    (void)state;
    for (size_t m = 0; m < ll_method_count(); m++)
        for (const subject *given = subjects; given <= MLP; given += 2) {
            if (!applies(ll_method_get(m)->name, place_of(given)))
                continue;
            scene s = scene_new(given, ll_method_get(m)->name, 1), other = scene_new(given, ll_method_get(m)->name, 3);
            ll_ensemble *full = fit(&s);
            s.o.shuffle = other.o.shuffle = "independent";
            ll_ensemble *one = fit(&s), *three = fit(&other);
            /* point is theta*, which of a deep head is trained by these batches too */
            bool same = !has_chains(s.o.method) && s.network;
            for (int64_t i = 0; i < one->plan.stored; i++) {
                assert_int_equal(differing(one, i, full, i), same ? 0 : one->plan.model->tensors);
                assert_int_equal(differing(one, i, three, i), 0);
            }
            ll_ensemble_free(full);
            ll_ensemble_free(one);
            ll_ensemble_free(three);
            scene_free(&s);
            scene_free(&other);
        }
}

typedef struct cut {
    ll_context *ctx;
    double after;
} cut;

static void on_progress(void *user, const char *what, double done, double total) {
    cut *c = user;
    if (!is(what, "theta*") && total > 2 && done >= c->after)
        ll_context_cancel(c->ctx);
}

/* Cut anywhere and resumed, on other threads: the same bytes. */
static void check_resume(scene *s, const char *method) {
    if (!has_chains(method))
        return;
    CHECK_OK(s->ctx, try_write(s, s->ctx, folder_path("whole"), false));
    folder_bytes whole = folder_read("whole");
    for (double after = 2; after < (s->images ? 4 : 20); after += s->images ? 1 : 5) {
        cut c = {.after = after};
        ll_context_options options = ll_context_options_default();
        options.threads = 2;
        options.progress = on_progress;
        options.user = &c;
        assert_int_equal(ll_context_new(&c.ctx, &options), LL_OK);
        ll_status status = try_write(s, c.ctx, folder_path("run"), false);
        assert_true(status == LL_ERR_CANCELLED || status == LL_OK);
        ll_context_free(c.ctx);
        if (status == LL_ERR_CANCELLED)
            CHECK_OK(s->ctx, try_write(s, s->ctx, folder_path("run"), true));
        folder_check_same("run", &whole);
        assert_false(folder_has("run.partial"));
        unlink(folder_path("run"));
    }
    free(whole.data);
}

static void test_resume(void **state) {
    (void)state;
    each(check_resume, 1);
}

/* Whatever is predicted: for any block and any number of threads the same bytes; and row by row as in a block. */
static void check_blocks(scene *s, const char *method) {
    (void)method;
    ll_ensemble *e = fit(s);
    folder_bytes bytes = {NULL, 0};
    static const int64_t blocks[] = {256, 32, 64, 1000};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++) {
        ll_context *ctx = check_context((int)(1 + i % 3));
        ll_predict_options o = ll_predict_options_default();
        o.block = blocks[i];
        o.members = "0,7,39";
        CHECK_OK(ctx, ll_predict_write(ctx, folder_path("p.npz"), e, s->data, &o));
        if (i == 0)
            bytes = folder_read("p.npz");
        folder_check_same("p.npz", &bytes);
        ll_context_free(ctx);
    }
    free(bytes.data);
    ll_predictor *predictor;
    CHECK_OK(s->ctx, ll_predictor_new(&predictor, s->ctx, e));
    float all[N * K], one[K], pmax[N * MEMBERS];
    int64_t n = s->n;
    ll_prediction out = {.probs = all, .member_pmax = pmax};
    int64_t before = lli_memory_count(s->ctx);
    CHECK_OK(s->ctx, ll_predictor_run(&out, predictor, s->z, n, 0));
    for (int64_t i = 0; i < n; i++) {
        ll_prediction single = {.probs = one};
        CHECK_OK(s->ctx, ll_predictor_run(&single, predictor, s->z + i * s->d, 1, i));
        assert_memory_equal(one, all + i * K, sizeof one);
    }
    assert_int_equal(lli_memory_count(s->ctx), before); /* predicting allocates nothing */
    for (int64_t m = 1; m < e->plan.S; m++) {
        int differ = 0;
        for (int64_t i = 0; i < n; i++)
            differ += pmax[i * e->plan.S + m] != pmax[i * e->plan.S];
        assert_true(differ > n / 2); /* members, and passes of dropout, are not one and the same */
    }
    ll_predictor_free(predictor);
    ll_ensemble_free(e);
}

static void test_blocks(void **state) {
    (void)state;
    each(check_blocks, 1);
}

/* A member of a network predicts what its last layer predicts on its representation: the same bits. */
static void test_network_is_encoding_and_head(void **state) {
    (void)state;
    scene s = scene_new(MLP, "point", 1);
    ll_ensemble *e = fit(&s);
    const lli_model *model = s.network->model;
    int64_t F = model->features;
    float *z = problem_room(N * F, sizeof *z), *work = problem_room(model->ops->represent_floats(model, N, 1), sizeof *work);
    lli_rows rows = lli_trained_rows(s.network, &s.p.data->rows);
    CHECK_OK(s.ctx, model->ops->represent(s.ctx, model, z, s.network->theta, work, &rows, 0, N, NULL));
    ll_head *head;
    ll_array W = ll_ensemble_weight_view(e), b = ll_ensemble_bias_view(e);
    ll_array weight = ll_array_view(W.data, LL_DTYPE_F32, 2, W.shape + 1), bias = ll_array_view(b.data, LL_DTYPE_F32, 1, b.shape + 1);
    CHECK_OK(s.ctx, ll_head_new(&head, s.ctx, weight, &bias, F, LL_HEAD_LAYOUT_KD));
    ll_array labels = ll_array_view(s.p.y, LL_DTYPE_I64, 1, &s.p.N);
    ll_dataset *encoded;
    CHECK_OK(s.ctx, ll_dataset_new(&encoded, s.ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){N, F}), &labels, K));
    s.o.layers = 1;
    ll_ensemble *last;
    CHECK_OK(s.ctx, ll_fit(&last, s.ctx, encoded, head, &s.o));
    float ours[N * K], theirs[N * K];
    double tails[2][N];
    ll_predictor *p;
    CHECK_OK(s.ctx, ll_predictor_new(&p, s.ctx, e));
    CHECK_OK(s.ctx, ll_predictor_run(&(ll_prediction){.probs = ours, .sr_tail = tails[0]}, p, s.p.z, N, 0));
    ll_predictor_free(p);
    CHECK_OK(s.ctx, ll_predictor_new(&p, s.ctx, last));
    CHECK_OK(s.ctx, ll_predictor_run(&(ll_prediction){.probs = theirs, .sr_tail = tails[1]}, p, z, N, 0));
    ll_predictor_free(p);
    assert_memory_equal(ours, theirs, sizeof ours);
    assert_memory_equal(tails[0], tails[1], sizeof tails[0]);
    ll_ensemble_free(last);
    ll_ensemble_free(e);
    ll_dataset_free(encoded);
    ll_head_free(head);
    free(z);
    free(work);
    scene_free(&s);
}

/* Rows that the network held out do not come into the fit, unless the data are not its own. */
static void test_holdout(void **state) {
    (void)state;
    scene s = scene_new(MLP, "sgd", 1);
    assert_int_equal(s.network->holdout_count, 15);
    ll_ensemble *e = fit(&s), *same;
    s.p.y[s.network->holdout[0]] = (s.p.y[s.network->holdout[0]] + 1) % K; /* another label in a row that is not used */
    ll_dataset *changed;
    ll_array labels = ll_array_view(s.p.y, LL_DTYPE_I64, 1, &s.p.N);
    CHECK_OK(s.ctx, ll_dataset_new(&changed, s.ctx, ll_array_view(s.p.z, LL_DTYPE_F32, 2, (int64_t[]){N, D}), &labels, K));
    CHECK_OK(s.ctx, ll_fit_network(&same, s.ctx, changed, s.network, &s.o));
    for (int64_t i = 0; i < MEMBERS; i++)
        assert_int_equal(differing(e, i, same, i), 0);
    ll_ensemble_free(same);
    ll_ensemble_free(e);
    ll_dataset_free(changed);
    scene_free(&s);
}

/* Statistics of batch norm belong to each member; its scale and shift feel no prior, but everything else does. */
static void test_batch_norm(void **state) {
    (void)state;
    scene s = scene_new(VGG, "sgd", 1);
    ll_ensemble *e = fit(&s);
    s.o.prior_precision = 1e4; /* lr tau / N = 2.8 */
    s.o.samples = s.o.thin = 1;
    s.o.lr = 0.01;
    ll_ensemble *one = fit(&s);
    s.o.prior_precision = 0;
    ll_ensemble *free_one = fit(&s);
    const lli_model *model = e->plan.model;
    int statistics = 0, norms = 0;
    for (int t = 0; t < model->tensors; t++) {
        const lli_tensor *tensor = &model->tensor[t];
        bool same = memcmp(one->tensor[t], free_one->tensor[t], (size_t)tensor->count * sizeof(float)) == 0;
        if (tensor->role == LLI_ROLE_STATISTIC) {
            statistics++;
            assert_memory_not_equal(e->tensor[t], e->tensor[t] + tensor->count, (size_t)tensor->count * sizeof(float));
        }
        norms += tensor->role == LLI_ROLE_NORM;
        /* after one step from one start: the gradient is the same, so what differs is what the prior pulls at */
        assert_int_equal(same, tensor->role == LLI_ROLE_NORM || tensor->role == LLI_ROLE_STATISTIC);
    }
    assert_int_equal(statistics, 28);
    assert_int_equal(norms, 28);
    ll_ensemble_free(e);
    ll_ensemble_free(one);
    ll_ensemble_free(free_one);
    scene_free(&s);
}

/* MC-Dropout of a VGG: at the paper's places or at its own, other answers. */
static void test_dropout_places(void **state) {
    (void)state;
    float probs[2][IMAGES * K];
    for (int own = 0; own < 2; own++) {
        scene s = scene_new(VGG, "dropout", 1);
        s.o.dropout_at = own ? "own" : "paper";
        ll_ensemble *e = fit(&s), *back;
        CHECK_OK(s.ctx, ll_ensemble_write(s.ctx, folder_path("places.safetensors"), e));
        CHECK_OK(s.ctx, ll_ensemble_read(&back, s.ctx, folder_path("places.safetensors")));
        assert_int_equal(back->plan.drop_own, own);
        ll_predictor *p;
        CHECK_OK(s.ctx, ll_predictor_new(&p, s.ctx, back));
        CHECK_OK(s.ctx, ll_predictor_run(&(ll_prediction){.probs = probs[own]}, p, s.z, IMAGES, 0));
        ll_predictor_free(p);
        ll_ensemble_free(back);
        ll_ensemble_free(e);
        scene_free(&s);
    }
    assert_memory_not_equal(probs[0], probs[1], sizeof probs[0]);
}

/* One layer by Adam is a head like any other. */
static void test_one_layer_by_adam(void **state) {
    (void)state;
    scene s = scene_new(&(subject){.layers = 1}, "sgd", 1);
    s.o.init = "adam";
    ll_ensemble *e = fit(&s);
    assert_null(e->plan.net);
    assert_string_equal(lli_provenance_get(&e->plan.provenance, "format"), "lastlayer-ensemble-1");
    assert_string_equal(lli_provenance_get(&e->plan.provenance, "init"), "adam");
    ll_ensemble_free(e);
    scene_free(&s);
}

static void test_refusals(void **state) {
    (void)state;
    scene s = scene_new(MLP, "sgd", 1);
    ll_ensemble *e;
    ll_fit_options good = s.o;
    problem wide = problem_new(s.ctx, 40, D + 1, K), many = problem_new(s.ctx, 40, D, K + 2);
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "have 7 features and the network mlp:7,5 expects 6",
                ll_fit_network(&e, s.ctx, wide.data, s.network, &s.o));
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "but the network has 3 classes (0 to 2)", ll_fit_network(&e, s.ctx, many.data, s.network, &s.o));
    s.o.layers = 2;
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "layers is for features", try_fit(&e, &s));
    s.o = good;
    s.o.init = "map";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "init is for features", try_fit(&e, &s));
    s.o = good;
    s.o.method = "dropout";
    s.o.dropout_at = "own";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "mlp:7,5 has no dropout layers of its own", try_fit(&e, &s));
    s.o.dropout_at = "nowhere";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "dropout_at is nowhere", try_fit(&e, &s));
    s.o = good;
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "leave out the head", (s.o.layers = 2, ll_fit(&e, s.ctx, s.p.data, s.p.head, &s.o)));
    s.o.init = "map";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "leave out init=map", ll_fit(&e, s.ctx, s.p.data, NULL, &s.o));
    for (int64_t layers = 0; layers <= 4; layers += 4) {
        s.o = good;
        s.o.layers = layers;
        CHECK_FAILS(s.ctx, LL_ERR_USAGE, "layers is", ll_fit(&e, s.ctx, s.p.data, NULL, &s.o));
    }
    s.o = good;
    s.o.method = "ensemble";
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "the method ensemble trains whole networks", ll_fit(&e, s.ctx, s.p.data, s.p.head, &s.o));
    s.o = good;
    e = fit(&s);
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "the features have 7 columns but the ensemble was fitted on 6",
                ll_predict_write(s.ctx, folder_path("x.npz"), e, wide.data, NULL));
    ll_ensemble_free(e);
    problem_free(&wide);
    problem_free(&many);
    scene_free(&s);
}

static void check_divergence(scene *s, const char *method) {
    if (!reads_option(method, LLI_READS(lr)) || s->images)
        return; /* batch norm forgives any lr for a while */
    s->o.lr = 1e6;
    ll_ensemble *e;
    CHECK_FAILS(s->ctx, LL_ERR_DIVERGED, "diverged", try_fit(&e, s));
    CHECK_FAILS(s->ctx, LL_ERR_DIVERGED, "diverged", try_write(s, s->ctx, folder_path("d.safetensors"), false));
    assert_false(folder_has("d.safetensors") || folder_has("d.safetensors.partial"));
}

static void test_divergence(void **state) {
    (void)state;
    each(check_divergence, 2);
}

/* Each allocation fails once. */
static void test_out_of_memory(void **state) {
    (void)state;
    static const char *const methods[] = {"sgld", "ensemble", "dropout"};
    for (size_t i = 0; i < 3; i += 2)
        for (size_t m = 0; m < LLI_COUNT(methods); m++) {
            scene s = scene_new(&subjects[i], methods[m], 1);
            for (int64_t n = 1;; n++) {
                ll_ensemble *e;
                lli_memory_fail_at(s.ctx, n);
                ll_status status = try_fit(&e, &s);
                lli_memory_fail_at(s.ctx, 0);
                if (status == LL_OK) {
                    assert_true(n > 20);
                    ll_ensemble_free(e);
                    break;
                }
                assert_int_equal(status, LL_ERR_MEMORY);
                assert_null(e);
            }
            scene_free(&s);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_independent),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_network_is_encoding_and_head),
        cmocka_unit_test(test_holdout),
        cmocka_unit_test(test_one_layer_by_adam),
        cmocka_unit_test(test_batch_norm),
        cmocka_unit_test(test_dropout_places),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
