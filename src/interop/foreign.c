/* SPDX-License-Identifier: MIT */
/* Names of Keras (dense_1/kernel:0, batch_normalization_1/gamma:0; since version 3 layers/dense_1/vars/0) and of PyTorch
 * (features.0.weight, bn1.running_mean). */
#include "interop/foreign.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const struct {
    const char *word;
    lli_foreign_role role;
    bool keras;
} words[] = {
    {"kernel", LLI_FOREIGN_WEIGHT, true},
    {"gamma", LLI_FOREIGN_WEIGHT, true},
    {"weight", LLI_FOREIGN_WEIGHT, false},
    {"bias", LLI_FOREIGN_BIAS, false},
    {"beta", LLI_FOREIGN_BIAS, true},
    {"moving_mean", LLI_FOREIGN_MEAN, true},
    {"running_mean", LLI_FOREIGN_MEAN, false},
    {"moving_variance", LLI_FOREIGN_VARIANCE, true},
    {"running_var", LLI_FOREIGN_VARIANCE, false},
};

/* Parts of a PyTorch model that come last, whatever the alphabet says. */
static const char *const heads[] = {"classifier", "fc", "head", "linear", "output"};

/* Keras 3 numbers the arrays of a layer: kernel, bias; gamma, beta, moving mean, moving variance. So do our roles. */
static bool is_numbered(lli_foreign_role *out, size_t *prefix, const char *name) {
    static const char vars[] = "/vars/";
    size_t length = strlen(name), tail = sizeof vars - 1;
    if (length < tail + 1 || strncmp(name + length - tail - 1, vars, tail) != 0)
        return false;
    int number = name[length - 1] - '0';
    *out = (lli_foreign_role)number;
    *prefix = length - tail - 1;
    return number >= 0 && number < LLI_FOREIGN_ROLES;
}

bool lli_foreign_role_of(lli_foreign_role *out, bool *keras, size_t *prefix, const char *name) {
    size_t begin = 0, end = strlen(name), digits = end;
    if (is_numbered(out, prefix, name)) {
        *keras = true;
        return true;
    }
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits > 0 && digits < end && name[digits - 1] == ':') /* TensorFlow's number of an output */
        end = digits - 1;
    for (size_t i = 0; i < end; i++)
        if (name[i] == '/' || name[i] == '.')
            begin = i + 1;
    for (size_t i = 0; i < LLI_COUNT(words); i++)
        if (strlen(words[i].word) == end - begin && strncmp(name + begin, words[i].word, end - begin) == 0) {
            *out = words[i].role;
            *keras = words[i].keras;
            *prefix = begin > 0 ? begin - 1 : 0;
            return true;
        }
    return false;
}

/* A name in the list of layers, "a,b,c", and its place there, from 1. */
typedef struct listed {
    const char *text;
    size_t length;
    int64_t place;
} listed;

typedef struct layer_list {
    listed *names; /* sorted; of equal ones the first comes first */
    int64_t count;
} layer_list;

static int by_text(const void *a, const void *b) {
    const listed *one = a, *other = b;
    size_t shared = LLI_MIN(one->length, other->length);
    int order = shared ? memcmp(one->text, other->text, shared) : 0;
    if (order == 0 && one->length != other->length)
        order = one->length < other->length ? -1 : 1;
    return order ? order : one->place < other->place ? -1 : one->place > other->place;
}

static ll_status list_read(layer_list *out, ll_context *ctx, const char *text) {
    *out = (layer_list){0};
    if (!text)
        return LL_OK;
    int64_t count = 1;
    for (const char *c = text; *c; c++)
        count += *c == ',';
    LLI_TRY(lli_memory_new(ctx, &out->names, count, sizeof *out->names));
    for (; out->count < count; out->count++) {
        size_t length = strcspn(text, ",");
        out->names[out->count] = (listed){text, length, out->count + 1};
        text += length + 1;
    }
    qsort(out->names, (size_t)count, sizeof *out->names, by_text);
    return LL_OK;
}

/* Place of a text in the list, 0 if it is not in it. */
static int64_t find_in(const layer_list *list, const char *text, size_t length) {
    const listed wanted = {text, length, 0};
    int64_t low = 0, high = list->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (by_text(&list->names[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const listed *found = low < list->count ? &list->names[low] : NULL;
    return found && length > 0 && found->length == length && memcmp(found->text, text, length) == 0 ? found->place : 0;
}

/* Place of the layer in the list of the file: by its whole path (Keras 3), or by the first part of it that is there. */
static int64_t place_of(const char *path, const layer_list *list) {
    int64_t place = find_in(list, path, strlen(path));
    for (const char *part = path; part && place == 0; part = strchr(part, '/')) {
        part += *part == '/';
        place = find_in(list, part, strcspn(part, "/"));
    }
    return place;
}

/* Whether the layer is one of a model inside a model of Keras 3, where names do not tell the order. */
static bool is_nested(const char *path) {
    static const char *const lists[] = {"/layers/", "/_layer_checkpoint_dependencies/"};
    int depth = 0;
    for (size_t i = 0; i < LLI_COUNT(lists); i++)
        for (const char *p = strstr(path, lists[i]); p; p = strstr(p + 1, lists[i]))
            depth++;
    return depth > 1;
}

/* Text order in which runs of digits count as numbers: conv2d_9 before conv2d_10. */
static int compare_names(const char *a, const char *b) {
    while (*a && *b) {
        size_t m = strspn(a, "0123456789"), n = strspn(b, "0123456789");
        if (m > 0 && n > 0) {
            for (; m > 1 && *a == '0'; m--)
                a++;
            for (; n > 1 && *b == '0'; n--)
                b++;
            int order = m != n ? (m > n) - (m < n) : strncmp(a, b, m);
            if (order)
                return order;
            a += m;
            b += n;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return (*a != 0) - (*b != 0);
}

static bool is_head(const char *name) {
    for (const char *part = name; part; part = strchr(part, '.')) {
        part += *part == '.';
        for (size_t i = 0; i < LLI_COUNT(heads); i++)
            if (strcspn(part, ".0123456789") == strlen(heads[i]) && strncmp(part, heads[i], strlen(heads[i])) == 0)
                return true;
    }
    return false;
}

static bool is_before(const lli_foreign_layer *a, const lli_foreign_layer *b) {
    if (a->place != b->place)
        return a->place < b->place;
    if (is_head(a->name) != is_head(b->name))
        return is_head(b->name);
    return compare_names(a->name, b->name) < 0;
}

static ll_status find_or_add(lli_foreign_layer **out, ll_context *ctx, lli_foreign *f, const char *name, size_t length,
                             const layer_list *list) {
    enum { LAYERS_MAX = 1000 };
    for (int64_t i = 0; i < f->count; i++)
        if (strlen(f->layers[i].name) == length && strncmp(f->layers[i].name, name, length) == 0) {
            *out = &f->layers[i];
            return LL_OK;
        }
    if (f->count == LAYERS_MAX)
        return lli_fail(ctx, LL_ERR_DATA, "a network with more than %d layers is not supported; the last was %.100s", LAYERS_MAX, name);
    if (f->count == f->capacity) {
        int64_t capacity = LLI_MAX(16, 2 * f->capacity);
        LLI_TRY(lli_memory_grow(ctx, &f->layers, f->capacity, capacity, sizeof *f->layers));
        f->capacity = capacity;
    }
    *out = &f->layers[f->count];
    LLI_TRY(lli_memory_text(ctx, &(*out)->name, name));
    (*out)->name[length] = 0;
    for (int r = 0; r < LLI_FOREIGN_ROLES; r++)
        (*out)->array[r] = -1;
    (*out)->place = place_of((*out)->name, list);
    f->nested |= (*out)->place == 0 && is_nested((*out)->name);
    f->count++;
    return LL_OK;
}

/* By the axes of the weight; what has statistics, or a vector for a weight, is a norm. False: nothing we know. */
static bool find_kind(lli_foreign_layer *layer, const ll_bundle *bundle) {
    int64_t weight = layer->array[LLI_FOREIGN_WEIGHT];
    int rank = weight >= 0 ? ll_bundle_array(bundle, weight).rank : 1;
    layer->kind = rank == 4 ? LLI_FOREIGN_CONV : rank == 2 ? LLI_FOREIGN_DENSE : LLI_FOREIGN_NORM;
    bool statistics = layer->array[LLI_FOREIGN_MEAN] >= 0 && layer->array[LLI_FOREIGN_VARIANCE] >= 0;
    return layer->kind == LLI_FOREIGN_NORM ? statistics && rank == 1 : !statistics;
}

/* Passes over what is no layer, and puts the rest in order. */
static void settle(lli_foreign *f, const ll_bundle *bundle) {
    int64_t kept = 0;
    for (int64_t i = 0; i < f->count; i++) {
        lli_foreign_layer layer = f->layers[i];
        if (!find_kind(&layer, bundle)) {
            lli_memory_free(layer.name);
            continue;
        }
        f->kinds[layer.kind]++;
        int64_t at = kept++;
        for (; at > 0 && is_before(&layer, &f->layers[at - 1]); at--)
            f->layers[at] = f->layers[at - 1];
        f->layers[at] = layer;
    }
    f->count = kept;
}

ll_status lli_foreign_read(lli_foreign *out, ll_context *ctx, const ll_bundle *bundle) {
    static const char *const states[] = {"/optimizer_weights/", "/optimizer/"};
    layer_list list;
    *out = (lli_foreign){0};
    ll_status status = list_read(&list, ctx, lli_bundle_meta(bundle, "layer_names"));
    for (int64_t i = 0; i < ll_bundle_count(bundle) && status == LL_OK; i++) {
        const char *name = ll_bundle_name(bundle, i);
        lli_foreign_layer *layer = NULL;
        lli_foreign_role role;
        bool keras;
        size_t prefix;
        bool state = false;
        for (size_t k = 0; k < LLI_COUNT(states); k++)
            state |= strncmp(name, states[k], strlen(states[k])) == 0;
        if (state || !lli_foreign_role_of(&role, &keras, &prefix, name))
            continue;
        status = find_or_add(&layer, ctx, out, name, prefix, &list);
        if (status != LL_OK)
            break;
        layer->array[role] = i;
        layer->keras |= keras;
    }
    lli_memory_free(list.names);
    if (status == LL_OK)
        settle(out, bundle);
    else
        lli_foreign_release(out);
    return status;
}

void lli_foreign_release(lli_foreign *foreign) {
    for (int64_t i = 0; i < foreign->count; i++)
        lli_memory_free(foreign->layers[i].name);
    lli_memory_free(foreign->layers);
    *foreign = (lli_foreign){0};
}

const lli_foreign_layer *lli_foreign_find(const lli_foreign *foreign, lli_foreign_kind kind, int64_t n) {
    for (int64_t i = 0; i < foreign->count; i++)
        if (foreign->layers[i].kind == kind && n-- == 0)
            return &foreign->layers[i];
    return NULL;
}

const char *lli_foreign_kind_name(lli_foreign_kind kind) {
    static const char *const names[] = {"convolutions", "dense layers", "batch norms"};
    return names[kind];
}
