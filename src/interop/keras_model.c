/* SPDX-License-Identifier: MIT */
/* The JSON of a model of Keras, layer by layer in the order of the data: {"class_name": "Dense", "config": {"activation": "relu", ...}}. A
 * model inside a model stands in its place, with layers of its own; of old files the config is itself the list of layers. */
#include "interop/keras_model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats/tree.h"

#define RULE "expected relu after every hidden layer, before its batch norm, and softmax or linear after the last layer"

typedef struct walk {
    ll_context *ctx;
    const char *path;
    double epsilon;
    const char *last;               /* the last dense layer or convolution so far, NULL before the first */
    bool relu, norm, pool, softmax; /* came behind it */
    int64_t kinds[LLI_FOREIGN_KINDS];
} walk;

/* What a layer does where a network predicts. */
typedef enum deed { NOTHING, WEIGHTS, NORM, POOL, FUNCTION } deed;

static const struct {
    const char *class;
    deed does;
    lli_foreign_kind kind;
    const char *function; /* NULL: that of its activation */
} classes[] = {
    {"InputLayer", NOTHING, 0, NULL},    {"Flatten", NOTHING, 0, NULL},
    {"Dropout", NOTHING, 0, NULL},       {"Dense", WEIGHTS, LLI_FOREIGN_DENSE, NULL},
    {"Activation", FUNCTION, 0, NULL},   {"Conv2D", WEIGHTS, LLI_FOREIGN_CONV, NULL},
    {"ReLU", FUNCTION, 0, "relu"},       {"BatchNormalization", NORM, LLI_FOREIGN_NORM, NULL},
    {"Softmax", FUNCTION, 0, "softmax"}, {"MaxPooling2D", POOL, 0, NULL},
};

/* What ours have, where Keras leaves a choice: a text, or a number, which may stand in a list. NaN: nothing, null. */
static const struct {
    const char *class, *key, *text;
    double number;
} settings[] = {
    {"Conv2D", "padding", "same", 0},     {"Conv2D", "data_format", "channels_last", 0},
    {"Conv2D", "strides", NULL, 1},       {"Conv2D", "dilation_rate", NULL, 1},
    {"Conv2D", "groups", NULL, 1},        {"MaxPooling2D", "pool_size", NULL, 2},
    {"MaxPooling2D", "strides", NULL, 2}, {"ReLU", "max_value", NULL, NAN},
    {"ReLU", "negative_slope", NULL, 0},  {"ReLU", "threshold", NULL, 0},
};

static bool has_setting(const lli_tree *value, const char *text, double number) {
    if (!value || lli_tree_is_null(value))
        return true;
    if (text)
        return lli_tree_text(value) && strcmp(lli_tree_text(value), text) == 0;
    bool same = true;
    for (int64_t i = 0; i < lli_tree_count(value); i++)
        same &= lli_tree_number(lli_tree_at(value, i)) == number;
    return lli_tree_is_list(value) ? same : lli_tree_number(value) == number;
}

static ll_status check_settings(const walk *w, const char *class, const char *name, const lli_tree *config) {
    for (size_t i = 0; i < LLI_COUNT(settings); i++) {
        const char *key = settings[i].key, *text = settings[i].text;
        double number = settings[i].number;
        if (strcmp(class, settings[i].class) != 0 || has_setting(lli_tree_get(config, key), text, number))
            continue;
        if (text)
            return lli_fail(w->ctx, LL_ERR_DATA, "%s: %s of the layer %.100s is not %s, the only one that lastlayer supports", w->path, key,
                            name, text);
        if (isnan(number))
            return lli_fail(w->ctx, LL_ERR_DATA, "%s: the layer %.100s has a %s, which lastlayer does not support", w->path, name, key);
        return lli_fail(w->ctx, LL_ERR_DATA, "%s: %s of the layer %.100s is not %g, the only value that lastlayer supports", w->path, key,
                        name, number);
    }
    double epsilon = lli_tree_number(lli_tree_get(config, "epsilon"));
    if (strcmp(class, "BatchNormalization") == 0 && fabs(epsilon - w->epsilon) > 1e-6 * w->epsilon)
        return lli_fail(w->ctx, LL_ERR_DATA, "%s: the batch norm %.100s adds %g to the variance, not %g; give `batchnorm-epsilon %g`",
                        w->path, name, epsilon, w->epsilon, epsilon);
    return LL_OK;
}

/* The name of a function; what is not a text is a class of the user. */
static const char *function_of(const lli_tree *config) {
    const lli_tree *activation = lli_tree_get(config, "activation");
    if (!activation || lli_tree_is_null(activation))
        return "linear";
    return lli_tree_text(activation) ? lli_tree_text(activation) : "of a custom class";
}

static ll_status take_function(walk *w, const char *name, const char *word) {
    bool relu = strcmp(word, "relu") == 0, softmax = strcmp(word, "softmax") == 0;
    if (strcmp(word, "linear") == 0)
        return LL_OK;
    if (!relu && !softmax)
        return lli_fail(w->ctx, LL_ERR_DATA, "%s: the layer %.100s has the activation %.100s; " RULE, w->path, name, word);
    const char *place = !w->last     ? "before the first layer with weights"
                        : w->norm    ? "behind a batch norm"
                        : w->softmax ? "behind softmax"
                                     : NULL;
    if (place)
        return lli_fail(w->ctx, LL_ERR_DATA, "%s: the layer %.100s does %s %s; " RULE, w->path, name, word, place);
    w->relu |= relu;
    w->softmax = softmax;
    return LL_OK;
}

/* What comes next shows that the layer before was a hidden one. */
static ll_status leave_hidden(const walk *w) {
    if (w->last && (!w->relu || w->softmax))
        return lli_fail(w->ctx, LL_ERR_DATA, "%s: %s comes after the hidden layer %.100s; " RULE, w->path,
                        w->softmax ? "softmax" : "no relu", w->last);
    return LL_OK;
}

static ll_status take_norm(walk *w, const char *name) {
    LLI_TRY(leave_hidden(w));
    if (!w->last || w->norm || w->pool)
        return lli_fail(w->ctx, LL_ERR_DATA, "%s: the batch norm %.100s comes %s; " RULE, w->path, name,
                        !w->last  ? "before the first layer with weights"
                        : w->norm ? "behind another"
                                  : "behind a max-pooling");
    w->norm = true;
    return LL_OK;
}

/* A model that is no layer itself, or one layer. */
static ll_status take_layer(walk *w, const lli_tree *layer) {
    const lli_tree *config = lli_tree_get(layer, "config"), *layers = lli_tree_is_list(config) ? config : lli_tree_get(config, "layers");
    const char *class = lli_tree_text(lli_tree_get(layer, "class_name")), *name = lli_tree_text(lli_tree_get(config, "name"));
    for (int64_t i = 0; i < lli_tree_count(layers); i++)
        LLI_TRY(take_layer(w, lli_tree_at(layers, i)));
    if (layers)
        return LL_OK;
    if (!class)
        return lli_fail(w->ctx, LL_ERR_FORMAT, "%s: a layer of its model has no class_name; the file is damaged", w->path);
    name = name ? name : class;
    size_t row = 0;
    while (row < LLI_COUNT(classes) && strcmp(class, classes[row].class) != 0)
        row++;
    if (row == LLI_COUNT(classes))
        return lli_fail(w->ctx, LL_ERR_DATA,
                        "%s: the layer %.100s is of the class %.100s; expected Dense, Conv2D, BatchNormalization, MaxPooling2D, "
                        "Activation, ReLU, Softmax, Flatten or Dropout",
                        w->path, name, class);
    LLI_TRY(check_settings(w, class, name, config));
    switch (classes[row].does) {
    case NOTHING: return LL_OK;
    case POOL: w->pool = true; return LL_OK;
    case NORM: w->kinds[classes[row].kind]++; return take_norm(w, name);
    case WEIGHTS:
        LLI_TRY(leave_hidden(w));
        w->kinds[classes[row].kind]++;
        w->last = name;
        w->relu = w->norm = w->pool = w->softmax = false;
        break;
    case FUNCTION: break;
    }
    return take_function(w, name, classes[row].function ? classes[row].function : function_of(config));
}

static ll_status check_end(const walk *w, const lli_foreign *foreign) {
    for (int k = 0; k < LLI_FOREIGN_KINDS; k++)
        if (w->kinds[k] != foreign->kinds[k])
            return lli_fail(w->ctx, LL_ERR_DATA, "%s: the model has %" PRId64 " %s, but there are arrays for %" PRId64, w->path,
                            w->kinds[k], lli_foreign_kind_name((lli_foreign_kind)k), foreign->kinds[k]);
    if (w->relu || w->norm)
        return lli_fail(w->ctx, LL_ERR_DATA, "%s: %s comes after the last layer %.100s; " RULE, w->path, w->norm ? "a batch norm" : "relu",
                        w->last);
    return LL_OK;
}

ll_status lli_keras_model_check(ll_context *ctx, const char *path, const ll_bundle *bundle, const lli_foreign *foreign, double epsilon) {
    walk w = {.ctx = ctx, .path = path, .epsilon = epsilon};
    const char *json = lli_bundle_meta(bundle, "model_config");
    lli_tree *tree;
    if (!json && foreign->count > 1)
        lli_log(ctx, LL_LOG_NOTE, "%s does not say which activations it has; relu is assumed after every hidden layer", path);
    if (!json)
        return LL_OK;
    LLI_TRY(lli_tree_parse(&tree, ctx, json, strlen(json), path));
    ll_status status = take_layer(&w, tree);
    if (status == LL_OK)
        status = check_end(&w, foreign);
    lli_tree_free(tree);
    return status;
}
