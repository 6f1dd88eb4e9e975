/* SPDX-License-Identifier: MIT */
/* Ensembles in memory and as the arrays and metadata of a file. */
#include "ensemble/ensemble.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

void lli_ensemble_plan_release(lli_ensemble_plan *plan) {
    lli_memory_free(plan->weight);
    lli_memory_free(plan->calibration);
    lli_memory_free(plan->cut);
    plan->weight = plan->calibration = plan->cut = NULL;
    lli_gaussian_release(&plan->gaussian);
    lli_scores_release(&plan->scores);
    lli_provenance_release(&plan->provenance);
}

void ll_ensemble_free(ll_ensemble *e) {
    if (!e)
        return;
    lli_ensemble_plan_release(&e->plan);
    for (int i = 0; i < LLI_TENSORS_MAX; i++)
        lli_memory_free(e->owned[i]);
    lli_memory_free(e->fingerprint);
    ll_bundle_free(e->file);
    lli_network_free(e->network);
    lli_memory_free(e);
}

/* What a head's tensors are. */
static void describe_head(lli_model *head, int64_t K, int64_t D) {
    *head = (lli_model){.D = D, .K = K, .features = D, .tensors = 2, .mask_layers = 1};
    head->tensor[0] = (lli_tensor){"W", 2, {K, D}, K * D, LLI_ROLE_KERNEL};
    head->tensor[1] = (lli_tensor){"b", 1, {K}, K, LLI_ROLE_BIAS};
}

/* The model of the plan, as the ensemble's own. */
static ll_status own_model(ll_context *ctx, ll_ensemble *e) {
    lli_ensemble_plan *p = &e->plan;
    if (!p->net) {
        describe_head(&e->head, p->K, p->D);
        p->model = &e->head;
        return LL_OK;
    }
    LLI_TRY(lli_network_new(&e->network, ctx, p->net, p->input.height, p->input.width, p->input.channels, p->K));
    p->model = lli_network_model(e->network);
    return LL_OK;
}

void lli_ensemble_apply_input(lli_rows *rows, const lli_input_shape *input, const double scaling[2]) {
    rows->height = input->height;
    rows->width = input->width;
    rows->channels = input->channels;
    rows->shift = (float)scaling[0];
    rows->scale = (float)scaling[1];
}

ll_status lli_ensemble_new(ll_ensemble **out, ll_context *ctx, lli_ensemble_plan *plan) {
    *out = NULL;
    ll_ensemble *e = NULL;
    ll_status status = lli_memory_new(ctx, &e, 1, sizeof *e);
    if (status != LL_OK) {
        lli_ensemble_plan_release(plan);
        return status;
    }
    e->plan = *plan;
    *plan = (lli_ensemble_plan){0};
    int64_t floats;
    if (!lli_multiply(&floats, e->plan.K, e->plan.D) || !lli_multiply(&floats, floats, e->plan.stored))
        LLI_DO(lli_fail(ctx, LL_ERR_MEMORY,
                        "an ensemble of %" PRId64 " members of %" PRId64 " classes and %" PRId64 " features is too large", e->plan.stored,
                        e->plan.K, e->plan.D));
    LLI_DO(own_model(ctx, e));
    for (int i = 0; i < e->plan.model->tensors; i++) {
        if (!lli_multiply(&floats, e->plan.model->tensor[i].count, e->plan.stored))
            LLI_DO(lli_fail(ctx, LL_ERR_MEMORY, "an ensemble of %" PRId64 " members is too large for memory", e->plan.stored));
        LLI_DO(lli_memory_new(ctx, &e->owned[i], floats, sizeof(float)));
        e->tensor[i] = e->owned[i];
    }
    LLI_DO(lli_memory_new(ctx, &e->fingerprint, e->plan.stored, sizeof *e->fingerprint));
    *out = e;
    e = NULL;
done:
    ll_ensemble_free(e);
    return status;
}

ll_ensemble lli_ensemble_prefix(const ll_ensemble *ensemble, int64_t S) {
    ll_ensemble prefix = *ensemble;
    prefix.plan.S = S;
    prefix.plan.stored = LLI_MIN(S, ensemble->plan.stored);
    return prefix;
}

ll_ensemble lli_ensemble_member(const ll_ensemble *ensemble, int64_t s) {
    static double one = 1;
    ll_ensemble member = lli_ensemble_prefix(ensemble, 1);
    member.plan.weight = &one;
    member.plan.calibration = member.plan.cut = NULL;
    member.plan.scores.which = 0;
    for (int i = 0; i < member.plan.model->tensors; i++)
        member.tensor[i] += s * member.plan.model->tensor[i].count;
    member.fingerprint += s;
    return member;
}

/* The array `name` with this type and rank, or a sentence. */
static ll_status find_array(ll_context *ctx, ll_array *out, const ll_bundle *bundle, const char *path, const char *name, ll_dtype dtype,
                            int rank) {
    int64_t i = ll_bundle_find(bundle, name);
    if (i < 0)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s is not an ensemble: it has no array %s", path, name);
    *out = ll_bundle_array(bundle, i);
    char text[LLI_ARRAY_TEXT];
    if (out->dtype != dtype || out->rank != rank)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the array %s is %s; expected %s with %d axes", path, name, lli_array_text(text, out),
                        ll_dtype_name(dtype), rank);
    return LL_OK;
}

/* A whole decimal number in the metadata. */
static ll_status find_number(ll_context *ctx, uint64_t *out, const ll_bundle *bundle, const char *path, const char *key, uint64_t most) {
    const char *text = lli_bundle_meta(bundle, key);
    uint64_t value = 0;
    bool ok = text && *text;
    for (const char *p = text; ok && *p; p++)
        ok = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
             !__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
    if (!ok || value > most)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata entry %s is %s; expected a whole number up to %" PRIu64, path, key,
                        text ? text : "missing", most);
    *out = value;
    return LL_OK;
}

static ll_status check_values(ll_context *ctx, const ll_ensemble *e, const char *path) {
    const lli_ensemble_plan *p = &e->plan;
    double total = 0;
    for (int64_t s = 0; s < p->S; s++) {
        if (!(p->weight[s] >= 0) || !isfinite(p->weight[s]))
            return lli_fail(ctx, LL_ERR_DATA, "%s: the weight of member %" PRId64 " is %g; expected a finite number of at least 0", path, s,
                            p->weight[s]);
        total += p->weight[s];
    }
    if (!(total > 0) || !isfinite(total))
        return lli_fail(ctx, LL_ERR_DATA, "%s: the weights of the members sum to %g; expected a finite number above 0", path, total);
    for (int t = 0; t < p->model->tensors; t++) {
        const lli_tensor *tensor = &p->model->tensor[t];
        int64_t count = p->stored * tensor->count, i = lli_array_not_finite(e->tensor[t], count);
        if (i < count)
            return lli_fail(ctx, LL_ERR_DATA, "%s: %s holds a value that is not finite in member %" PRId64, path, tensor->name,
                            i / tensor->count);
    }
    return LL_OK;
}

/* The tensors of heads define their shape. */
static ll_status fill_heads(ll_context *ctx, ll_ensemble *e, const ll_bundle *bundle, const char *path) {
    lli_ensemble_plan *p = &e->plan;
    ll_array W, b;
    LLI_TRY(find_array(ctx, &W, bundle, path, "W", LL_DTYPE_F32, 3));
    LLI_TRY(find_array(ctx, &b, bundle, path, "b", LL_DTYPE_F32, 2));
    p->K = W.shape[1];
    p->D = W.shape[2];
    if (p->S < 1 || p->S > LLI_MEMBERS_MAX || p->K < 2 || p->D < 1 || W.shape[0] != p->stored || b.shape[0] != p->stored ||
        b.shape[1] != p->K)
        return lli_fail(ctx, LL_ERR_FORMAT,
                        "%s: W [%" PRId64 ",%" PRId64 ",%" PRId64 "], b [%" PRId64 ",%" PRId64 "] and weight [%" PRId64 "] do not fit "
                        "together",
                        path, W.shape[0], W.shape[1], W.shape[2], b.shape[0], b.shape[1], p->S);
    LLI_TRY(own_model(ctx, e));
    e->tensor[0] = W.data;
    e->tensor[1] = b.data;
    return LL_OK;
}

/* HEIGHTxWIDTHxCHANNELS in the metadata. */
static ll_status find_input(ll_context *ctx, lli_input_shape *out, const ll_bundle *bundle, const char *path) {
    const char *text = lli_bundle_meta(bundle, "input"), *p = text ? text : "";
    int64_t sizes[3] = {0}, most = (int64_t)1 << 24;
    for (int i = 0; i < 3; i++) {
        for (; *p >= '0' && *p <= '9' && sizes[i] < most; p++)
            sizes[i] = 10 * sizes[i] + (*p - '0');
        if (sizes[i] < 1 || sizes[i] > most || *p != (i < 2 ? 'x' : 0))
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata entry input is %.100s; expected HEIGHTxWIDTHxCHANNELS", path,
                            text ? text : "missing");
        p++;
    }
    *out = (lli_input_shape){sizes[0], sizes[1], sizes[2]};
    return LL_OK;
}

/* The text of a network defines the shapes that its tensors must have. */
static ll_status fill_networks(ll_context *ctx, ll_ensemble *e, const ll_bundle *bundle, const char *path) {
    lli_ensemble_plan *p = &e->plan;
    uint64_t K;
    LLI_TRY(find_number(ctx, &K, bundle, path, "outputs", INT32_MAX));
    LLI_TRY(find_input(ctx, &p->input, bundle, path));
    p->K = (int64_t)K;
    p->net = lli_provenance_get(&p->provenance, "net");
    if (!p->net)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata entry net is missing; expected the text of a network", path);
    ll_array scaling, a;
    LLI_TRY(find_array(ctx, &scaling, bundle, path, "scaling", LL_DTYPE_F64, 1));
    if (scaling.shape[0] != 2)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the array scaling has %" PRId64 " numbers; expected 2, shift and scale", path,
                        scaling.shape[0]);
    lli_array_to_f64(p->scaling, &scaling, 0, 2);
    if (!isfinite(p->scaling[0]) || !isfinite(p->scaling[1]) || p->scaling[1] == 0)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the array scaling is %g, %g; expected a finite shift and a finite scale other than 0", path,
                        p->scaling[0], p->scaling[1]);
    if (p->S < 1 || p->S > LLI_MEMBERS_MAX)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the array weight has %" PRId64 " numbers, one per member; expected 1 to %d", path, p->S,
                        LLI_MEMBERS_MAX);
    LLI_TRY(own_model(ctx, e));
    p->D = p->model->D;
    for (int i = 0; i < p->model->tensors; i++) {
        const lli_tensor *t = &p->model->tensor[i];
        LLI_TRY(find_array(ctx, &a, bundle, path, t->name, LL_DTYPE_F32, 1 + t->rank));
        if (a.shape[0] != p->stored || memcmp(a.shape + 1, t->shape, (size_t)t->rank * sizeof *t->shape) != 0) {
            ll_array expected = ll_array_view(NULL, LL_DTYPE_F32, 1 + t->rank,
                                              (int64_t[]){p->stored, t->shape[0], t->shape[1], t->shape[2], t->shape[3]});
            char found_text[LLI_ARRAY_TEXT], expected_text[LLI_ARRAY_TEXT];
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the array %s is %s; the network %s with %" PRId64 " members has %s", path, t->name,
                            lli_array_text(found_text, &a), p->net, p->stored, lli_array_text(expected_text, &expected));
        }
        e->tensor[i] = a.data;
    }
    return LL_OK;
}

/* An array of f64 that a file need not have: `rows` times K numbers, none NaN, finite unless `infinite`. */
static ll_status find_optional(ll_context *ctx, double **out, const ll_bundle *bundle, const char *path, const char *name, int64_t rows,
                               int64_t K, bool infinite) {
    ll_array a;
    if (ll_bundle_find(bundle, name) < 0)
        return LL_OK;
    LLI_TRY(find_array(ctx, &a, bundle, path, name, LL_DTYPE_F64, rows > 1 ? 2 : 1));
    if (a.shape[a.rank - 1] != K || (rows > 1 && a.shape[0] != rows)) {
        char text[LLI_ARRAY_TEXT];
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the array %s is %s; expected %" PRId64 " numbers for each of %" PRId64 " classes", path,
                        name, lli_array_text(text, &a), rows, K);
    }
    LLI_TRY(lli_memory_new(ctx, out, rows * K, sizeof(double)));
    lli_array_to_f64(*out, &a, 0, rows * K);
    for (int64_t i = 0; i < rows * K; i++)
        if (isnan((*out)[i]) || (isinf((*out)[i]) && !infinite))
            return lli_fail(ctx, LL_ERR_DATA, "%s: the array %s holds %g for class %" PRId64 "; expected a %s", path, name, (*out)[i],
                            i % K, infinite ? "number" : "finite number");
    return LL_OK;
}

/* What is random at prediction goes by the number of a row, or by its content. */
static ll_status find_key(ll_context *ctx, lli_ensemble_plan *p, const char *path) {
    const char *key = lli_provenance_get(&p->provenance, "key");
    p->by_content = key && strcmp(key, "content") == 0;
    if (key && !p->by_content && strcmp(key, "row") != 0)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata entry key is %s; expected row or content", path, key);
    return LL_OK;
}

/* Whether the members are masks. */
static ll_status find_masks(ll_context *ctx, lli_ensemble_plan *p, const ll_bundle *bundle, const char *path) {
    if (!lli_provenance_get(&p->provenance, "drop16"))
        return LL_OK;
    uint64_t drop16;
    LLI_TRY(find_number(ctx, &drop16, bundle, path, "drop16", 65535));
    LLI_TRY(find_number(ctx, &p->seed, bundle, path, "seed", UINT64_MAX));
    p->drop16 = (uint32_t)drop16;
    if (p->drop16 == 0)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata entry drop16 is 0; expected 1 to 65535", path);
    p->stored = 1;
    const char *at = lli_provenance_get(&p->provenance, "dropout-at");
    p->drop_own = at && strcmp(at, "own") == 0;
    return find_key(ctx, p, path);
}

/* Whether the members are draws from a Gaussian, of one head and this seed. */
static ll_status find_draws(ll_context *ctx, lli_ensemble_plan *p, const ll_bundle *bundle, const char *path, bool networks) {
    p->gaussian.structure = lli_provenance_get(&p->provenance, LLI_GAUSSIAN_STRUCTURE);
    if (!p->gaussian.structure)
        return LL_OK;
    if (networks || p->drop16)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata entry " LLI_GAUSSIAN_STRUCTURE " is for heads without masks", path);
    p->stored = 1;
    LLI_TRY(find_key(ctx, p, path));
    return find_number(ctx, &p->seed, bundle, path, "seed", UINT64_MAX);
}

static ll_status fill_from(ll_context *ctx, ll_ensemble *e, const ll_bundle *bundle, const char *path) {
    lli_ensemble_plan *p = &e->plan;
    for (int64_t i = 0; i < bundle->meta_count; i++)
        LLI_TRY(lli_provenance_add(ctx, &p->provenance, bundle->meta[i].key, bundle->meta[i].value));
    const char *format = lli_provenance_get(&p->provenance, "format");
    bool networks = format && strcmp(format, LLI_ENSEMBLE_FORMAT_NETWORK) == 0;
    ll_array weight, W;
    if (!networks) /* of a file that is none at all, that is the first thing to say */
        LLI_TRY(find_array(ctx, &W, bundle, path, "W", LL_DTYPE_F32, 3));
    LLI_TRY(find_array(ctx, &weight, bundle, path, "weight", LL_DTYPE_F64, 1));
    if (!networks && (!format || strcmp(format, LLI_ENSEMBLE_FORMAT) != 0))
        return lli_fail(ctx, LL_ERR_FORMAT,
                        "%s: the metadata entry format is %s; expected " LLI_ENSEMBLE_FORMAT " or " LLI_ENSEMBLE_FORMAT_NETWORK, path,
                        format ? format : "missing");
    p->method = lli_provenance_get(&p->provenance, "method");
    if (!p->method || !*p->method || p->method[strspn(p->method, "abcdefghijklmnopqrstuvwxyz")] != 0)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s is not an ensemble: its metadata have no method", path);
    p->S = weight.shape[0];
    p->stored = p->S;
    LLI_TRY(find_masks(ctx, p, bundle, path));
    LLI_TRY(find_draws(ctx, p, bundle, path, networks));
    LLI_TRY((networks ? fill_networks : fill_heads)(ctx, e, bundle, path));
    if (p->gaussian.structure)
        LLI_TRY(lli_gaussian_from(ctx, &p->gaussian, bundle, path, p->K, p->D));
    LLI_TRY(lli_memory_new(ctx, &p->weight, p->S, sizeof(double)));
    lli_array_to_f64(p->weight, &weight, 0, p->S);
    LLI_TRY(find_optional(ctx, &p->calibration, bundle, path, "calibration", 2, p->K, false));
    LLI_TRY(find_optional(ctx, &p->cut, bundle, path, "cut", 1, p->K, true));
    LLI_TRY(check_values(ctx, e, path));
    LLI_TRY(lli_memory_new(ctx, &e->fingerprint, p->stored, sizeof *e->fingerprint));
    LLI_TRY(lli_fingerprint_from(e->fingerprint, ctx, bundle, path, p->model, e->tensor, p->stored));
    return lli_ensemble_take_scores(ctx, e, bundle, path);
}

ll_status lli_ensemble_from(ll_ensemble **out, ll_context *ctx, ll_bundle *bundle, const char *path) {
    *out = NULL;
    ll_ensemble *e;
    LLI_TRY(lli_memory_new(ctx, &e, 1, sizeof *e));
    ll_status status = fill_from(ctx, e, bundle, path);
    if (status != LL_OK) {
        ll_ensemble_free(e);
        return status;
    }
    e->file = bundle;
    *out = e;
    return LL_OK;
}

int64_t ll_ensemble_samples(const ll_ensemble *e) {
    return e ? e->plan.S : 0;
}

int64_t ll_ensemble_classes(const ll_ensemble *e) {
    return e ? e->plan.K : 0;
}

int64_t ll_ensemble_features(const ll_ensemble *e) {
    return e ? e->plan.D : 0;
}

const char *ll_ensemble_method(const ll_ensemble *e) {
    return e ? e->plan.method : "";
}

ll_array ll_ensemble_weight_view(const ll_ensemble *e) {
    if (!e)
        return (ll_array){.rank = -1};
    return ll_array_view(e->tensor[e->plan.model->head_tensor], LL_DTYPE_F32, 3,
                         (int64_t[]){e->plan.stored, e->plan.K, e->plan.model->features});
}

ll_array ll_ensemble_bias_view(const ll_ensemble *e) {
    if (!e)
        return (ll_array){.rank = -1};
    return ll_array_view(e->tensor[e->plan.model->head_tensor + 1], LL_DTYPE_F32, 2, (int64_t[]){e->plan.stored, e->plan.K});
}
