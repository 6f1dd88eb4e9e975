/* SPDX-License-Identifier: MIT */
/* Networks of other libraries in our shapes: the i-th convolution there is the i-th here, and likewise for dense layers and batch norms.
 * docs/manual/import.md */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/option.h"
#include "data/images.h"
#include "formats/number.h"
#include "interop/foreign.h"
#include "interop/keras_model.h"
#include "interop/trained.h"

static const double own_epsilon = 1e-3; /* of our batch norms */

enum { VGG_CONVS = 13, VGG_FIRST = 64, VGG_SIDE = 32 };

/* clang-format off */
static const ll_option table[] = {
    {.name = "net", .type = LL_OPTION_TEXT, .offset = offsetof(ll_import_options, net), .arg = "NET",
     .standard = "recognised by its shapes", .help = "the network that the file holds: mlp:512,20, vgg16, vgg16:width=0.25"},
    {.name = "input", .type = LL_OPTION_TEXT, .offset = offsetof(ll_import_options, input), .arg = "HxWxC", .standard = "that of `data`",
     .help = "height, width and channels of its images; 1x1xD for plain features"},
    {.name = "shift", .type = LL_OPTION_REAL, .offset = offsetof(ll_import_options, shift), .arg = "X", .min = -INFINITY, .max = INFINITY,
             .open_min = true,
     .open_max = true, .standard = "that of `data`", .help = "its pixels are (byte - shift) * scale",
     .unset = LL_OPTION_UNSET_NAN},
    {.name = "scale", .type = LL_OPTION_REAL, .offset = offsetof(ll_import_options, scale), .arg = "X", .min = -INFINITY, .max = INFINITY,
             .open_min = true,
     .open_max = true, .standard = "that of `data`; without it, 1/255 for grey images", .help = "see `shift`",
     .unset = LL_OPTION_UNSET_NAN},
    {.name = "batchnorm-epsilon", .type = LL_OPTION_REAL, .offset = offsetof(ll_import_options, batchnorm_epsilon), .arg = "X",
     .min = 0, .max = 1, .open_min = true, .standard = "1e-3 for Keras, 1e-5 for PyTorch",
     .help = "what its batch norms add to the variance", .unset = LL_OPTION_UNSET_ZERO},
};
/* clang-format on */

void ll_import_options_init(ll_import_options *options, size_t struct_size) {
    const ll_import_options defaults = {.shift = NAN, .scale = NAN};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

const ll_option *ll_import_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

typedef struct importer {
    ll_context *ctx;
    const char *path;
    const ll_bundle *bundle;
    lli_foreign from;
    double epsilon;
    ll_network *network;
} importer;

/* Inputs and outputs of a layer, as its weight says. */
static int64_t width_in(const importer *m, const lli_foreign_layer *l) {
    ll_array a = ll_bundle_array(m->bundle, l->array[LLI_FOREIGN_WEIGHT]);
    return l->keras ? a.shape[a.rank - 2] : a.shape[1];
}

static int64_t width_out(const importer *m, const lli_foreign_layer *l) {
    ll_array a = ll_bundle_array(m->bundle, l->array[LLI_FOREIGN_WEIGHT]);
    return l->keras ? a.shape[a.rank - 1] : a.shape[0];
}

/* ---- what network it is ---- */

static ll_status guess_net(lli_text *out, const importer *m) {
    int64_t convs = m->from.kinds[LLI_FOREIGN_CONV], dense = m->from.kinds[LLI_FOREIGN_DENSE];
    if (convs == 0 && dense == 1)
        lli_text_add(out, "head:1");
    else if (convs == 0)
        for (int64_t i = 0; i + 1 < dense; i++)
            lli_text_add(out, "%s%" PRId64, i ? "," : "mlp:", width_out(m, lli_foreign_find(&m->from, LLI_FOREIGN_DENSE, i)));
    else if (convs == VGG_CONVS) {
        int64_t channels = width_out(m, lli_foreign_find(&m->from, LLI_FOREIGN_CONV, 0));
        lli_text_add(out, "vgg16");
        if (channels != VGG_FIRST) {
            lli_text_add(out, ":width=");
            lli_text_number(out, (double)channels / VGG_FIRST);
        }
    } else
        return lli_fail(m->ctx, LL_ERR_USAGE,
                        "%s: %" PRId64 " convolutions, %" PRId64 " batch norms and %" PRId64 " dense layers are not a known network; "
                        "expected dense layers alone (mlp) or 13 convolutions (vgg16)",
                        m->path, convs, m->from.kinds[LLI_FOREIGN_NORM], dense);
    return out->status;
}

typedef struct input {
    int64_t height, width, channels;
} input;

static bool parse_input(input *out, const char *text) {
    int64_t *parts[] = {&out->height, &out->width, &out->channels};
    for (int i = 0; i < 3; i++) {
        size_t length = strcspn(text, "x");
        lli_number number;
        if (!lli_number_parse(&number, text, length) || !number.is_integer || number.integer < 1 || number.integer > INT32_MAX ||
            (text[length] == 0) != (i == 2))
            return false;
        *parts[i] = number.integer;
        text += length + 1;
    }
    return true;
}

/* Said, of the images, or from the first layer: 784 are 28x28x1, 3072 are 32x32x3, a convolution means 32x32. */
static ll_status choose_input(input *out, const importer *m, const ll_dataset *data, const char *text) {
    const lli_foreign_layer *conv = lli_foreign_find(&m->from, LLI_FOREIGN_CONV, 0),
                            *dense = lli_foreign_find(&m->from, LLI_FOREIGN_DENSE, 0);
    int64_t in = width_in(m, conv ? conv : dense);
    if (text && !parse_input(out, text))
        return lli_fail(m->ctx, LL_ERR_USAGE, "`input` is \"%.100s\"; expected height, width and channels like 32x32x3", text);
    if (text)
        return LL_OK;
    if (data)
        *out = (input){data->rows.height, data->rows.width, data->rows.channels};
    else if (conv)
        *out = (input){VGG_SIDE, VGG_SIDE, in};
    else if (in == 784)
        *out = (input){28, 28, 1};
    else if (in == 3072)
        *out = (input){32, 32, 3};
    else
        *out = (input){1, 1, in};
    return LL_OK;
}

static ll_status choose_scale(const importer *m, const ll_dataset *data, const ll_import_options *o) {
    ll_network *n = m->network;
    bool plain = n->height * n->width == 1;
    bool both = !isnan(o->shift) && !isnan(o->scale);
    if (data) {
        n->shift = data->rows.shift;
        n->scale = data->rows.scale;
    } else if (plain || n->channels == 1) {
        n->shift = 0;
        n->scale = plain ? 1 : (float)(1.0 / 255);
    } else if (!both)
        return lli_fail(m->ctx, LL_ERR_USAGE,
                        "%s: how were its pixels scaled? Give the images it was trained on, like `data cifar10` (mean and standard "
                        "deviation of the training images), or `shift` and `scale`",
                        m->path);
    if (!isnan(o->shift))
        n->shift = (float)o->shift;
    if (!isnan(o->scale))
        n->scale = (float)o->scale;
    if (!isfinite(n->shift))
        return lli_fail(m->ctx, LL_ERR_USAGE, "`shift` is %g; expected a number that f32 can hold", o->shift);
    if (!isfinite(n->scale) || !(n->scale > 0))
        return lli_fail(m->ctx, LL_ERR_USAGE, "`scale` is %g; expected a number above 0 that f32 can hold", o->scale);
    return LL_OK;
}

static ll_status choose_classes(const importer *m, const ll_images *images) {
    ll_network *n = m->network;
    if (images && images->classes && images->K != n->model->K)
        return lli_fail(m->ctx, LL_ERR_DATA, "%s: the network has %" PRId64 " classes but the images have %" PRId64, m->path, n->model->K,
                        images->K);
    for (int64_t k = 0; k < n->model->K; k++)
        n->classes[k] = images && images->classes ? images->classes[k] : (int32_t)k;
    return LL_OK;
}

/* ---- tensors ---- */

static ll_status mismatch(const importer *m, const char *name, const ll_array *found, const lli_tensor *t, int rank,
                          const int64_t *expected) {
    char have[LLI_ARRAY_TEXT], want[LLI_ARRAY_TEXT];
    ll_array like = ll_array_view(NULL, found->dtype, rank, expected);
    return lli_fail(m->ctx, LL_ERR_DATA, "%s: %s is %s, but %s of the network %s needs %s", m->path, name, lli_array_text(have, found),
                    t->name, ll_network_text(m->network), lli_array_text(want, &like));
}

/* Row of ours that column i of a dense layer's weight is for: after a convolution or an image PyTorch counts [C,H,W], we [H,W,C]. */
static int64_t our_column(int64_t i, int64_t area, int64_t channels) {
    return i % area * channels + i / area;
}

/* The shape that the weight must have in the file. */
static void expected_shape(int64_t out[LL_ARRAY_RANK_MAX], const lli_tensor *t, bool keras) {
    const int64_t *s = t->shape, keras4[] = {s[2], s[3], s[1], s[0]}, keras2[] = {s[1], s[0]};
    memcpy(out, !keras ? s : t->rank == 4 ? keras4 : keras2, (size_t)t->rank * sizeof *out);
}

static ll_status check_weight(const importer *m, const lli_foreign_layer *l, const lli_tensor *t) {
    int64_t index = l->array[LLI_FOREIGN_WEIGHT], expected[LL_ARRAY_RANK_MAX];
    ll_array a = ll_bundle_array(m->bundle, index);
    expected_shape(expected, t, l->keras);
    bool same = a.rank == t->rank && memcmp(a.shape, expected, (size_t)t->rank * sizeof *expected) == 0;
    return same ? LL_OK : mismatch(m, ll_bundle_name(m->bundle, index), &a, t, t->rank, expected);
}

static ll_status check_vector(const importer *m, const lli_foreign_layer *l, lli_foreign_role role, const lli_tensor *t) {
    int64_t index = l->array[role];
    if (index < 0)
        return LL_OK;
    ll_array a = ll_bundle_array(m->bundle, index);
    return a.rank == 1 && a.shape[0] == t->count ? LL_OK : mismatch(m, ll_bundle_name(m->bundle, index), &a, t, 1, t->shape);
}

/* The weight of a convolution or dense layer in PyTorch's shape and our order. `channels`: of what a dense layer reads as an image, or
 * 1. */
static void take_weight(float *out, const importer *m, const lli_foreign_layer *l, const lli_tensor *t, int64_t channels) {
    int64_t O = t->shape[0], I = t->shape[1], area = t->rank == 4 ? t->shape[2] * t->shape[3] : 1;
    ll_array a = ll_bundle_array(m->bundle, l->array[LLI_FOREIGN_WEIGHT]);
    for (int64_t o = 0; o < O; o++)
        for (int64_t i = 0; i < I; i++)
            for (int64_t p = 0; p < area; p++) {
                int64_t column = !l->keras && t->rank == 2 && channels > 1 ? our_column(i, I / channels, channels) : i;
                double x = lli_array_real(&a, l->keras ? (p * I + i) * O + o : (o * I + i) * area + p);
                out[(o * I + column) * area + p] = (float)x;
            }
}

/* A vector; where the file has none, all are `standard`. */
static void take_vector(float *out, const importer *m, const lli_foreign_layer *l, lli_foreign_role role, const lli_tensor *t,
                        double standard) {
    int64_t index = l->array[role];
    ll_array a = index >= 0 ? ll_bundle_array(m->bundle, index) : (ll_array){0};
    for (int64_t i = 0; i < t->count; i++)
        out[i] = (float)(index >= 0 ? lli_array_real(&a, i) : standard);
}

static ll_status check_finite(const importer *m, const lli_foreign_layer *l, const lli_tensor *t, const float *values) {
    for (int64_t i = 0; i < t->count; i++)
        if (!isfinite(values[i]))
            return lli_fail(m->ctx, LL_ERR_DATA, "%s: %s (for %s) holds a value that is not finite", m->path, l->name, t->name);
    return LL_OK;
}

/* g / sqrt(v + theirs) = g' / sqrt(v + ours) */
static void fold_epsilon(float *g, const float *variance, int64_t C, double epsilon) {
    for (int64_t c = 0; c < C; c++)
        g[c] = (float)((double)g[c] * sqrt(((double)variance[c] + own_epsilon) / ((double)variance[c] + epsilon)));
}

static ll_status check_counts(const importer *m, const int64_t ours[LLI_FOREIGN_KINDS]) {
    for (int k = 0; k < LLI_FOREIGN_KINDS; k++)
        if (ours[k] != m->from.kinds[k])
            return lli_fail(m->ctx, LL_ERR_DATA, "%s: has %" PRId64 " %s, but the network %s has %" PRId64, m->path, m->from.kinds[k],
                            lli_foreign_kind_name((lli_foreign_kind)k), ll_network_text(m->network), ours[k]);
    return LL_OK;
}

static lli_foreign_kind kind_of(const lli_tensor *t) {
    return t->role == LLI_ROLE_NORM ? LLI_FOREIGN_NORM : t->rank == 4 ? LLI_FOREIGN_CONV : LLI_FOREIGN_DENSE;
}

/* Tensor t begins one of our layers: weight, bias, and for a norm mean and variance. */
static int parts_of(lli_foreign_kind kind) {
    return kind == LLI_FOREIGN_NORM ? 4 : 2;
}

static ll_status check_layer(const importer *m, int t, const lli_foreign_layer *l) {
    const lli_tensor *tensor = &m->network->model->tensor[t];
    if (l->kind != LLI_FOREIGN_NORM)
        LLI_TRY(check_weight(m, l, tensor));
    for (int p = l->kind == LLI_FOREIGN_NORM ? 0 : 1; p < parts_of(l->kind); p++)
        LLI_TRY(check_vector(m, l, (lli_foreign_role)p, tensor + p));
    return LL_OK;
}

static ll_status take_layer(const importer *m, float *const *tensors, int t, const lli_foreign_layer *l, int64_t channels) {
    const lli_tensor *tensor = &m->network->model->tensor[t];
    if (l->kind == LLI_FOREIGN_NORM)
        take_vector(tensors[t], m, l, LLI_FOREIGN_WEIGHT, tensor, 1);
    else
        take_weight(tensors[t], m, l, tensor, channels);
    for (int p = 1; p < parts_of(l->kind); p++)
        take_vector(tensors[t + p], m, l, (lli_foreign_role)p, tensor + p, 0);
    for (int p = 0; p < parts_of(l->kind); p++)
        LLI_TRY(check_finite(m, l, tensor + p, tensors[t + p]));
    if (l->kind != LLI_FOREIGN_NORM)
        return LL_OK;
    double epsilon = m->epsilon > 0 ? m->epsilon : l->keras ? 1e-3 : 1e-5;
    for (int64_t c = 0; c < tensor->count; c++)
        if (tensors[t + 3][c] < 0)
            return lli_fail(m->ctx, LL_ERR_DATA, "%s: %s has a variance of %g", m->path, l->name, (double)tensors[t + 3][c]);
    fold_epsilon(tensors[t], tensors[t + 3], tensor->count, epsilon);
    return LL_OK;
}

/* Says in the metadata which layer became which: `layers.3` = /conv2d_2/conv2d_2. */
static ll_status record_origin(const importer *m, const lli_tensor *t, const lli_foreign_layer *l) {
    char key[64];
    size_t length = strlen(t->name) - strlen(".weight");
    memcpy(key, t->name, LLI_MIN(length, sizeof key - 1));
    key[LLI_MIN(length, sizeof key - 1)] = 0;
    return lli_provenance_add(m->ctx, &m->network->provenance, key, l->name);
}

/* Every layer of the network is in the file, in its shape: what the text of a network promises takes memory only then. */
static ll_status check_tensors(const importer *m) {
    const lli_model *model = m->network->model;
    int64_t ours[LLI_FOREIGN_KINDS] = {0};
    for (int t = 0; t < model->tensors; t += parts_of(kind_of(&model->tensor[t])))
        ours[kind_of(&model->tensor[t])]++;
    LLI_TRY(check_counts(m, ours));
    memset(ours, 0, sizeof ours);
    for (int t = 0; t < model->tensors; t += parts_of(kind_of(&model->tensor[t]))) {
        lli_foreign_kind kind = kind_of(&model->tensor[t]);
        LLI_TRY(check_layer(m, t, lli_foreign_find(&m->from, kind, ours[kind]++)));
    }
    return LL_OK;
}

static ll_status take_tensors(const importer *m) {
    const lli_model *model = m->network->model;
    float *block = NULL, *tensors[LLI_TENSORS_MAX];
    int64_t ours[LLI_FOREIGN_KINDS] = {0}, channels = m->network->height * m->network->width > 1 ? m->network->channels : 1;
    ll_status status;
    LLI_DO(lli_trained_tensors(m->ctx, &block, tensors, model));
    for (int t = 0; t < model->tensors; t += parts_of(kind_of(&model->tensor[t]))) {
        lli_foreign_kind kind = kind_of(&model->tensor[t]);
        const lli_foreign_layer *l = lli_foreign_find(&m->from, kind, ours[kind]++);
        LLI_DO(take_layer(m, tensors, t, l, channels));
        LLI_DO(record_origin(m, &model->tensor[t], l));
        channels = kind == LLI_FOREIGN_CONV ? model->tensor[t].shape[0] : kind == LLI_FOREIGN_DENSE ? 1 : channels;
    }
    model->ops->pack(model, m->network->theta, (const float *const *)tensors);
done:
    lli_memory_free(block);
    return status;
}

static ll_status build(importer *m, const ll_images *images, const ll_import_options *o) {
    const ll_dataset *data = !images ? NULL : images->train ? images->train : images->test;
    int64_t dense = m->from.kinds[LLI_FOREIGN_DENSE];
    lli_text net;
    input in;
    if (m->from.nested)
        return lli_fail(m->ctx, LL_ERR_DATA,
                        "%s: holds a model inside a model, but not the order of their layers; save it with model.save(\"model.keras\")",
                        m->path);
    if (dense == 0)
        return lli_fail(m->ctx, LL_ERR_DATA,
                        "%s: holds no dense layer; expected arrays like dense_1/kernel:0 and dense_1/bias:0 (Keras) or classifier.weight "
                        "and classifier.bias "
                        "(PyTorch)",
                        m->path);
    LLI_TRY(lli_keras_model_check(m->ctx, m->path, m->bundle, &m->from, m->epsilon > 0 ? m->epsilon : own_epsilon));
    lli_text_init(&net, m->ctx);
    ll_status status;
    if (o->net)
        lli_text_add(&net, "%s", o->net);
    else
        LLI_DO(guess_net(&net, m));
    LLI_DO(net.status);
    LLI_DO(choose_input(&in, m, data, o->input));
    int64_t K = width_out(m, lli_foreign_find(&m->from, LLI_FOREIGN_DENSE, dense - 1));
    if (K < 2)
        LLI_DO(lli_fail(m->ctx, LL_ERR_DATA, "%s: the last dense layer has %" PRId64 " output; expected one per class, at least 2", m->path,
                        K));
    LLI_DO(lli_trained_plan(&m->network, m->ctx, net.data, in.height, in.width, in.channels, K));
    LLI_DO(check_tensors(m));
    LLI_DO(lli_trained_alloc(m->ctx, m->network));
    LLI_DO(choose_scale(m, data, o));
    LLI_DO(choose_classes(m, images));
    LLI_DO(lli_trained_record(m->ctx, m->network));
    LLI_DO(lli_provenance_add(m->ctx, &m->network->provenance, "kept_epoch", "0"));
    LLI_DO(lli_provenance_add(m->ctx, &m->network->provenance, "imported",
                              lli_foreign_find(&m->from, LLI_FOREIGN_DENSE, 0)->keras ? "keras" : "pytorch"));
    LLI_DO(take_tensors(m));
done:
    lli_text_release(&net);
    return status;
}

ll_status ll_network_import(ll_network **out, ll_context *ctx, const char *path, const ll_images *images,
                            const ll_import_options *options) {
    LLI_NEED(ctx, out, path);
    ll_import_options chosen = ll_import_options_default();
    importer m = {.ctx = ctx, .path = path};
    ll_bundle *bundle = NULL;
    ll_status status;
    *out = NULL;
    LLI_DO(LLI_OPTION_TAKE(ctx, ll_import_options, &chosen, options, table, LLI_COUNT(table)));
    m.epsilon = chosen.batchnorm_epsilon;
    LLI_DO(ll_bundle_read(&bundle, ctx, path));
    m.bundle = bundle;
    LLI_DO(lli_foreign_read(&m.from, ctx, bundle));
    LLI_DO(build(&m, images, &chosen));
    *out = m.network;
    m.network = NULL;
done:
    ll_network_free(m.network);
    lli_foreign_release(&m.from);
    ll_bundle_free(bundle);
    return status;
}
