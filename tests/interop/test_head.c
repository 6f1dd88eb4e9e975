/* SPDX-License-Identifier: MIT */
/* Heads from arrays and files: which axis is K, which array is the weight, which the bias; what is refused. */
#include <math.h>

#include "check.h"
#include "folder.h"
#include "model/head.h"

enum { K = 3, D = 5 };

static float kd[K * D], dk[D * K], bias[K];

static void fill(void) {
    for (int k = 0; k < K; k++) {
        bias[k] = (float)(100 + k);
        for (int j = 0; j < D; j++)
            kd[k * D + j] = dk[j * K + k] = (float)(10 * k + j);
    }
}

static ll_array weight_kd(void) {
    return ll_array_view(kd, LL_DTYPE_F32, 2, (int64_t[]){K, D});
}

static ll_array weight_dk(void) {
    return ll_array_view(dk, LL_DTYPE_F32, 2, (int64_t[]){D, K});
}

static ll_array bias_view(void) {
    return ll_array_view(bias, LL_DTYPE_F32, 1, (int64_t[]){K});
}

static void check_head(ll_head *head, bool with_bias) {
    assert_int_equal(ll_head_classes(head), K);
    assert_int_equal(ll_head_features(head), D);
    ll_array W = ll_head_weight_view(head), b = ll_head_bias_view(head);
    assert_int_equal(W.dtype, LL_DTYPE_F32);
    assert_int_equal(W.shape[0], K);
    assert_int_equal(W.shape[1], D);
    assert_int_equal(b.shape[0], K);
    assert_memory_equal(W.data, kd, sizeof kd);
    for (int k = 0; k < K; k++)
        CHECK_NEAR((double)((const float *)b.data)[k], with_bias ? 100 + k : 0, 0);
    assert_true(isnan(ll_head_gradient_norm(head)));
    ll_head_free(head);
}

static void test_layouts(void **state) {
    (void)state;
    fill();
    ll_context *ctx = check_context(1);
    ll_array b = bias_view();
    static const ll_head_layout layouts[] = {LL_HEAD_LAYOUT_AUTO, LL_HEAD_LAYOUT_KD, LL_HEAD_LAYOUT_DK};
    char first_hash[LLI_HASH_TEXT] = "";
    for (int transposed = 0; transposed < 2; transposed++)
        for (size_t i = 0; i < LLI_COUNT(layouts); i++) {
            ll_head *head;
            ll_status status = ll_head_new(&head, ctx, transposed ? weight_dk() : weight_kd(), &b, D, layouts[i]);
            bool fits = layouts[i] == LL_HEAD_LAYOUT_AUTO || (layouts[i] == LL_HEAD_LAYOUT_DK) == transposed;
            assert_int_equal(status, fits ? LL_OK : LL_ERR_DATA);
            if (!fits) {
                assert_null(head);
                assert_non_null(strstr(ctx->message, "expected"));
                continue;
            }
            if (!first_hash[0])
                memcpy(first_hash, head->hash, sizeof first_hash);
            assert_string_equal(head->hash, first_hash); /* one head, however it lay */
            check_head(head, true);
        }
    ll_head *head;
    CHECK_OK(ctx, ll_head_new(&head, ctx, weight_kd(), NULL, D, LL_HEAD_LAYOUT_AUTO));
    check_head(head, false);
    ll_context_free(ctx);
}

static void test_square(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const float W[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    ll_array weight = ll_array_view(W, LL_DTYPE_F32, 2, (int64_t[]){3, 3});
    ll_head *head;
    CHECK_FAILS(ctx, LL_ERR_DATA, "say which with head_layout=kd or head_layout=dk",
                ll_head_new(&head, ctx, weight, NULL, 3, LL_HEAD_LAYOUT_AUTO));
    assert_null(head);
    CHECK_OK(ctx, ll_head_new(&head, ctx, weight, NULL, 3, LL_HEAD_LAYOUT_KD));
    CHECK_NEAR((double)((const float *)ll_head_weight_view(head).data)[1], 2, 0);
    ll_head_free(head);
    CHECK_OK(ctx, ll_head_new(&head, ctx, weight, NULL, 3, LL_HEAD_LAYOUT_DK));
    CHECK_NEAR((double)((const float *)ll_head_weight_view(head).data)[1], 4, 0);
    ll_head_free(head);
    ll_context_free(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    fill();
    ll_context *ctx = check_context(1);
    ll_head *head;
    ll_array flat = ll_array_view(kd, LL_DTYPE_F32, 1, (int64_t[]){K * D}), one = ll_array_view(kd, LL_DTYPE_F32, 2, (int64_t[]){1, D});
    ll_array long_bias = ll_array_view(kd, LL_DTYPE_F32, 1, (int64_t[]){K + 1}), no_axis = ll_array_view(kd, LL_DTYPE_F32, 0, NULL),
             b = bias_view();
    CHECK_FAILS(ctx, LL_ERR_DATA, "[15] f32; expected two axes, [K,D] or [D,K]",
                ll_head_new(&head, ctx, flat, NULL, D, LL_HEAD_LAYOUT_AUTO));
    CHECK_FAILS(ctx, LL_ERR_DATA, "the head's weight is [3,5] f32 and the features have 7 columns",
                ll_head_new(&head, ctx, weight_kd(), NULL, 7, LL_HEAD_LAYOUT_AUTO));
    CHECK_FAILS(ctx, LL_ERR_DATA, "which is 1 class; at least two", ll_head_new(&head, ctx, one, NULL, D, LL_HEAD_LAYOUT_AUTO));
    CHECK_FAILS(ctx, LL_ERR_DATA, "the head's bias is [4] f32; expected [3]",
                ll_head_new(&head, ctx, weight_kd(), &long_bias, D, LL_HEAD_LAYOUT_AUTO));
    CHECK_FAILS(ctx, LL_ERR_DATA, "the head's bias is", ll_head_new(&head, ctx, weight_kd(), &no_axis, D, LL_HEAD_LAYOUT_AUTO));
    kd[7] = NAN;
    CHECK_FAILS(ctx, LL_ERR_DATA, "the head's weight of class 1, feature 2 is not finite",
                ll_head_new(&head, ctx, weight_kd(), &b, D, LL_HEAD_LAYOUT_AUTO));
    dk[2 * K + 1] = INFINITY;
    CHECK_FAILS(ctx, LL_ERR_DATA, "the head's weight of class 1, feature 2 is not finite",
                ll_head_new(&head, ctx, weight_dk(), &b, D, LL_HEAD_LAYOUT_AUTO));
    fill();
    bias[2] = -INFINITY;
    CHECK_FAILS(ctx, LL_ERR_DATA, "the head's bias of class 2 is not finite",
                ll_head_new(&head, ctx, weight_kd(), &b, D, LL_HEAD_LAYOUT_AUTO));
    assert_null(head);
    ll_context_free(ctx);
}

/* The names that frameworks and people give, in both containers; the bias is found beside its weight. */
static void test_names(void **state) {
    (void)state;
    fill();
    static const char *const pairs[][2] = {{"W", "b"},
                                           {"weight", "bias"},
                                           {"kernel", "bias"},
                                           {"fc.weight", "fc.bias"},
                                           {"classifier.weight", "classifier.bias"},
                                           {"head.weight", "head.bias"},
                                           {"linear.weight", "linear.bias"},
                                           {"layers.0.weight", "layers.0.bias"}};
    static const char *const files[] = {"h.npz", "h.safetensors"};
    ll_context *ctx = check_context(1);
    for (size_t f = 0; f < LLI_COUNT(files); f++)
        for (size_t i = 0; i < LLI_COUNT(pairs); i++) {
            ll_named_array arrays[] = {
                {"other", weight_dk()}, {pairs[i][1], bias_view()}, {pairs[i][0], i % 2 ? weight_dk() : weight_kd()}};
            CHECK_OK(ctx, ll_bundle_write(ctx, folder_path(files[f]), arrays, 3, NULL, 0));
            ll_head *head;
            CHECK_OK(ctx, ll_head_read(&head, ctx, folder_path(files[f]), NULL, D, LL_HEAD_LAYOUT_AUTO));
            check_head(head, true);
            char where[4096];
            snprintf(where, sizeof where, "%s:%s", folder_path(files[f]), pairs[i][0]);
            CHECK_OK(ctx, ll_head_read(&head, ctx, where, NULL, D, LL_HEAD_LAYOUT_AUTO));
            check_head(head, true);
            snprintf(where, sizeof where, "%s:other", folder_path(files[f])); /* a name of its own has no bias beside it */
            CHECK_OK(ctx, ll_head_read(&head, ctx, where, NULL, D, LL_HEAD_LAYOUT_AUTO));
            check_head(head, false);
        }
    ll_context_free(ctx);
}

/* A network's file: FILE:NAME picks the layer, the bias with the same prefix belongs to it. */
static void test_prefix(void **state) {
    (void)state;
    fill();
    float wrong[K] = {7, 7, 7};
    ll_named_array arrays[] = {{"bias", ll_array_view(wrong, LL_DTYPE_F32, 1, (int64_t[]){K})},
                               {"model.fc.bias", bias_view()},
                               {"model.fc.weight", weight_kd()},
                               {"model.conv.weight", weight_dk()}};
    ll_context *ctx = check_context(1);
    CHECK_OK(ctx, ll_bundle_write(ctx, folder_path("net.safetensors"), arrays, 4, NULL, 0));
    char where[4096];
    ll_head *head;
    snprintf(where, sizeof where, "%s:model.fc.weight", folder_path("net.safetensors"));
    CHECK_OK(ctx, ll_head_read(&head, ctx, where, NULL, D, LL_HEAD_LAYOUT_AUTO));
    check_head(head, true);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "choose one with",
                ll_head_read(&head, ctx, folder_path("net.safetensors"), NULL, D, LL_HEAD_LAYOUT_AUTO));
    snprintf(where, sizeof where, "%s:model.fc.wieght", folder_path("net.safetensors"));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "model.fc.wieght", ll_head_read(&head, ctx, where, NULL, D, LL_HEAD_LAYOUT_AUTO));
    assert_null(head);
    ll_context_free(ctx);
}

/* --head W.npy --bias b.npy, f64 and transposed. */
static void test_separate(void **state) {
    (void)state;
    fill();
    double wide[D * K];
    for (int i = 0; i < D * K; i++)
        wide[i] = (double)dk[i];
    ll_named_array W = {"array", ll_array_view(wide, LL_DTYPE_F64, 2, (int64_t[]){D, K})}, b = {"array", bias_view()};
    ll_context *ctx = check_context(1);
    CHECK_OK(ctx, ll_bundle_write(ctx, folder_path("W.npy"), &W, 1, NULL, 0));
    CHECK_OK(ctx, ll_bundle_write(ctx, folder_path("b.npy"), &b, 1, NULL, 0));
    ll_head *head;
    CHECK_OK(ctx, ll_head_read(&head, ctx, folder_path("W.npy"), folder_path("b.npy"), D, LL_HEAD_LAYOUT_AUTO));
    check_head(head, true);
    CHECK_OK(ctx, ll_head_read(&head, ctx, folder_path("W.npy"), NULL, D, LL_HEAD_LAYOUT_AUTO));
    check_head(head, false);
    CHECK_FAILS(ctx, LL_ERR_READ, "none.npy",
                ll_head_read(&head, ctx, folder_path("W.npy"), folder_path("none.npy"), D, LL_HEAD_LAYOUT_AUTO));
    CHECK_FAILS(ctx, LL_ERR_READ, "none.npy", ll_head_read(&head, ctx, folder_path("none.npy"), NULL, D, LL_HEAD_LAYOUT_AUTO));
    CHECK_FAILS(ctx, LL_ERR_DATA, "bias", ll_head_read(&head, ctx, folder_path("W.npy"), folder_path("W.npy"), D, LL_HEAD_LAYOUT_AUTO));
    for (int64_t n = 1;; n++) {
        lli_memory_fail_at(ctx, n);
        ll_status status = ll_head_read(&head, ctx, folder_path("W.npy"), folder_path("b.npy"), D, LL_HEAD_LAYOUT_AUTO);
        lli_memory_fail_at(ctx, 0);
        if (status == LL_OK) {
            check_head(head, true);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(head);
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts), cmocka_unit_test(test_square), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_prefix), cmocka_unit_test(test_separate),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
