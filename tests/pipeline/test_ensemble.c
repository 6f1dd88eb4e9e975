/* SPDX-License-Identifier: MIT */
/* Ensembles as files: what is written is what is read, and files that are no ensembles are told so. */
#include <math.h>

#include "check.h"
#include "ensemble/ensemble.h"
#include "folder.h"
#include "heard.h"

enum { S = 4, K = 3, D = 2 };

typedef struct parts {
    float W[S * K * D], b[S * K];
    double weight[S];
    ll_named_array arrays[4];
    ll_meta meta[4];
    int64_t count, meta_count;
} parts;

static void parts_init(parts *p) {
    for (int i = 0; i < S * K * D; i++)
        p->W[i] = (float)i;
    for (int i = 0; i < S * K; i++)
        p->b[i] = (float)-i;
    for (int i = 0; i < S; i++)
        p->weight[i] = i + 1;
    p->arrays[0] = (ll_named_array){"W", ll_array_view(p->W, LL_DTYPE_F32, 3, (int64_t[]){S, K, D})};
    p->arrays[1] = (ll_named_array){"b", ll_array_view(p->b, LL_DTYPE_F32, 2, (int64_t[]){S, K})};
    p->arrays[2] = (ll_named_array){"weight", ll_array_view(p->weight, LL_DTYPE_F64, 1, (int64_t[]){S})};
    p->meta[0] = (ll_meta){"format", "lastlayer-ensemble-1"};
    p->meta[1] = (ll_meta){"method", "sgld"};
    p->meta[2] = (ll_meta){"seed", "12"};
    p->meta[3] = (ll_meta){"drop16", "32768"}; /* where members are masks */
    p->count = 3;
    p->meta_count = 3;
}

static void put(ll_context *ctx, const parts *p) {
    CHECK_OK(ctx, ll_bundle_write(ctx, folder_path("e.safetensors"), p->arrays, p->count, p->meta, p->meta_count));
}

static void refuse(ll_context *ctx, const parts *p, ll_status expected, const char *words) {
    put(ctx, p);
    ll_ensemble *e = (ll_ensemble *)&e;
    CHECK_FAILS(ctx, expected, words, ll_ensemble_read(&e, ctx, folder_path("e.safetensors")));
    assert_null(e);
}

static void test_round_trip(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    parts p;
    parts_init(&p);
    put(ctx, &p);
    ll_ensemble *e;
    CHECK_OK(ctx, ll_ensemble_read(&e, ctx, folder_path("e.safetensors")));
    assert_int_equal(ll_ensemble_samples(e), S);
    assert_int_equal(ll_ensemble_classes(e), K);
    assert_int_equal(ll_ensemble_features(e), D);
    assert_string_equal(ll_ensemble_method(e), "sgld");
    assert_int_equal(e->plan.drop16, 0);
    assert_memory_equal(ll_ensemble_weight_view(e).data, p.W, sizeof p.W);
    assert_memory_equal(ll_ensemble_bias_view(e).data, p.b, sizeof p.b);
    assert_memory_equal(e->plan.weight, p.weight, sizeof p.weight);
    CHECK_OK(ctx, ll_ensemble_write(ctx, folder_path("once.safetensors"), e)); /* with fingerprints */
    folder_bytes bytes = folder_read("once.safetensors");
    ll_ensemble *second;
    CHECK_OK(ctx, ll_ensemble_read(&second, ctx, folder_path("once.safetensors")));
    assert_memory_equal(ll_ensemble_weight_view(second).data, p.W, sizeof p.W);
    assert_memory_equal(ll_ensemble_bias_view(second).data, p.b, sizeof p.b);
    assert_memory_equal(second->plan.weight, p.weight, sizeof p.weight);
    CHECK_OK(ctx, ll_ensemble_write(ctx, folder_path("again.safetensors"), second));
    folder_check_same("again.safetensors", &bytes);
    free(bytes.data);
    ll_ensemble_free(e);
    ll_ensemble_free(second);
    ll_ensemble_free(NULL);
    for (int64_t n = 1;; n++) {
        lli_memory_fail_at(ctx, n);
        ll_status status = ll_ensemble_read(&e, ctx, folder_path("e.safetensors"));
        lli_memory_fail_at(ctx, 0);
        if (status == LL_OK) {
            assert_true(n > 5);
            ll_ensemble_free(e);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(e);
    }
    ll_context_free(ctx);
}

/* Reads what `p` has, which has `changed` members with other fingerprints; then stored and true names of the ensemble agree. */
static void check_changed(const parts *p, int changed, char hash[LLI_HASH_TEXT]) {
    heard h;
    ll_context *ctx = heard_context(&h);
    char anew[LLI_HASH_TEXT], words[100];
    put(ctx, p);
    ll_ensemble *e;
    CHECK_OK(ctx, ll_ensemble_read(&e, ctx, folder_path("e.safetensors")));
    assert_int_equal(h.warnings, changed > 0);
    snprintf(words, sizeof words, "%d of %d members were changed after they were written", changed, S);
    if (changed && !strstr(h.last, words))
        fail_msg("%s", h.last);
    lli_ensemble_hash(e, hash);
    CHECK_OK(ctx, lli_ensemble_hash_anew(ctx, e, anew));
    assert_string_equal(hash, anew);
    ll_ensemble_free(e);
    ll_context_free(ctx);
}

/* Kept where they fit; made where there are none, and anew where a bit of a member or of its fingerprint is another one. */
static void test_fingerprints(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    parts p;
    char without[LLI_HASH_TEXT], with[LLI_HASH_TEXT];
    parts_init(&p);
    check_changed(&p, 0, without);
    ll_ensemble *e;
    CHECK_OK(ctx, ll_ensemble_read(&e, ctx, folder_path("e.safetensors")));
    lli_fingerprint prints[S];
    memcpy(prints, e->fingerprint, sizeof prints);
    ll_ensemble_free(e);
    p.arrays[p.count++] = (ll_named_array){"fingerprint", ll_array_view(prints, LL_DTYPE_U8, 2, (int64_t[]){S, 64})};
    check_changed(&p, 0, with);
    assert_string_equal(with, without);
    for (int i = 0; i < S * K * D; i++) {
        p.W[i] = -p.W[i] - 1;
        check_changed(&p, 1, with);
        assert_string_not_equal(with, without);
        p.W[i] = (float)i;
    }
    p.b[0] += 1;
    p.b[S * K - 1] += 1;
    check_changed(&p, 2, with);
    p.b[0] -= 1;
    p.b[S * K - 1] -= 1;
    for (size_t i = 0; i < sizeof prints; i++) {
        ((unsigned char *)prints)[i] ^= 0x10;
        check_changed(&p, 1, with);
        assert_string_equal(with, without);
        ((unsigned char *)prints)[i] ^= 0x10;
    }
    p.weight[1] += 1; /* not of a member, but of the ensemble */
    check_changed(&p, 0, with);
    assert_string_not_equal(with, without);
    prints[2].sha256[0] ^= 1; /* a sum that fits a false SHA-256: only who takes that anew can tell */
    lli_hash_sum_init(prints[2].sum);
    lli_hash_sum_add(prints[2].sum, p.W + (size_t)(2 * K * D), sizeof(float) * K * D);
    lli_hash_sum_add(prints[2].sum, p.b + (size_t)(2 * K), sizeof(float) * K);
    lli_hash_sum_add(prints[2].sum, prints[2].sha256, LLI_HASH_BYTES);
    put(ctx, &p);
    CHECK_OK(ctx, ll_ensemble_read(&e, ctx, folder_path("e.safetensors")));
    lli_ensemble_hash(e, without);
    assert_string_not_equal(with, without);
    CHECK_OK(ctx, lli_ensemble_hash_anew(ctx, e, without));
    assert_string_equal(with, without);
    ll_ensemble_free(e);
    p.arrays[3].array.shape[0]--;
    refuse(ctx, &p, LL_ERR_FORMAT, "the array fingerprint is [3,64] u8; expected [4,64] u8");
    p.arrays[3].array = ll_array_view(prints, LL_DTYPE_U8, 2, (int64_t[]){S, 63});
    refuse(ctx, &p, LL_ERR_FORMAT, "the array fingerprint is [4,63] u8");
    p.arrays[3].array = ll_array_view(prints, LL_DTYPE_I8, 2, (int64_t[]){S, 64});
    refuse(ctx, &p, LL_ERR_FORMAT, "the array fingerprint is [4,64] i8");
    ll_context_free(ctx);
}

static void test_dropout(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    parts p;
    parts_init(&p);
    p.meta_count = 4;
    refuse(ctx, &p, LL_ERR_FORMAT, "do not fit together"); /* one parameter vector, not S */
    p.arrays[0].array.shape[0] = p.arrays[1].array.shape[0] = 1;
    p.meta[2].value = "18446744073709551615";
    put(ctx, &p);
    ll_ensemble *e;
    CHECK_OK(ctx, ll_ensemble_read(&e, ctx, folder_path("e.safetensors")));
    assert_int_equal(ll_ensemble_samples(e), S);
    assert_int_equal(ll_ensemble_weight_view(e).shape[0], 1);
    assert_int_equal(e->plan.drop16, 32768);
    assert_true(e->plan.seed == UINT64_MAX);
    ll_ensemble_free(e);
    static const char *const bad[] = {"0", "65536", "-1", "1.5", "", "x", "99999999999999999999999999"};
    for (size_t i = 0; i < LLI_COUNT(bad); i++) {
        p.meta[3].value = bad[i];
        refuse(ctx, &p, LL_ERR_FORMAT, "drop16");
    }
    p.meta_count = 3;
    refuse(ctx, &p, LL_ERR_FORMAT, "do not fit together");
    p.meta_count = 4;
    p.meta[3].value = "1";
    p.meta[2].value = "18446744073709551616";
    refuse(ctx, &p, LL_ERR_FORMAT, "the metadata entry seed");
    ll_context_free(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    parts p;
    parts_init(&p);
    p.count = 2;
    refuse(ctx, &p, LL_ERR_FORMAT, "is not an ensemble: it has no array weight");
    parts_init(&p);
    p.arrays[0].name = "V";
    refuse(ctx, &p, LL_ERR_FORMAT, "it has no array W");
    parts_init(&p);
    p.arrays[0].array = ll_array_view(p.W, LL_DTYPE_F32, 2, (int64_t[]){S * K, D});
    refuse(ctx, &p, LL_ERR_FORMAT, "the array W is [12,2] f32; expected f32 with 3 axes");
    parts_init(&p);
    p.arrays[2].array = ll_array_view(p.W, LL_DTYPE_F32, 1, (int64_t[]){S});
    refuse(ctx, &p, LL_ERR_FORMAT, "the array weight is [4] f32; expected f64");
    parts_init(&p);
    p.arrays[1].array.shape[1] = K - 1;
    refuse(ctx, &p, LL_ERR_FORMAT, "do not fit together");
    parts_init(&p);
    p.arrays[2].array.shape[0] = S - 1;
    refuse(ctx, &p, LL_ERR_FORMAT, "do not fit together");
    parts_init(&p);
    p.arrays[0].array = ll_array_view(p.W, LL_DTYPE_F32, 3, (int64_t[]){S, 1, D});
    p.arrays[1].array.shape[1] = 1;
    refuse(ctx, &p, LL_ERR_FORMAT, "do not fit together"); /* one class */
    parts_init(&p);
    p.meta[1].key = "way";
    refuse(ctx, &p, LL_ERR_FORMAT, "its metadata have no method");
    parts_init(&p);
    p.meta[1].value = "sgld\033[31m";
    refuse(ctx, &p, LL_ERR_FORMAT, "its metadata have no method");
    parts_init(&p);
    p.meta[0].value = "lastlayer-ensemble-3";
    refuse(ctx, &p, LL_ERR_FORMAT, "format is lastlayer-ensemble-3; expected lastlayer-ensemble-1 or lastlayer-ensemble-2");
    parts_init(&p);
    p.meta[0].key = "form";
    refuse(ctx, &p, LL_ERR_FORMAT, "format is missing");
    static const double weights[] = {-1, NAN, INFINITY};
    for (size_t i = 0; i < LLI_COUNT(weights); i++) {
        parts_init(&p);
        p.weight[2] = weights[i];
        refuse(ctx, &p, LL_ERR_DATA, "the weight of member 2 is");
    }
    parts_init(&p);
    memset(p.weight, 0, sizeof p.weight);
    refuse(ctx, &p, LL_ERR_DATA, "the weights of the members sum to 0");
    p.weight[0] = p.weight[1] = 1e308;
    refuse(ctx, &p, LL_ERR_DATA, "the weights of the members sum to inf");
    parts_init(&p);
    p.W[K * D + 1] = NAN;
    refuse(ctx, &p, LL_ERR_DATA, "W holds a value that is not finite in member 1");
    parts_init(&p);
    p.b[3 * K] = INFINITY;
    refuse(ctx, &p, LL_ERR_DATA, "b holds a value that is not finite in member 3");
    ll_ensemble *e;
    CHECK_FAILS(ctx, LL_ERR_READ, "none", ll_ensemble_read(&e, ctx, folder_path("none.safetensors")));
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_fingerprints),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
