/* SPDX-License-Identifier: MIT */
/* A file of encoded features in one call: its parts are those that are read one by one, and each refusal names file and array. */
#include <math.h>

#include "check.h"
#include "folder.h"
#include "interop/encoded.h"

enum { N = 24, D = 4, K = 3, ARRAYS = 10 };

static float z[N * D], W[K * D], b[K];
static int32_t y[N], classes[K] = {2, 5, 7};

static ll_array matrix(const float *data, int64_t rows) {
    return ll_array_view(data, LL_DTYPE_F32, 2, (int64_t[]){rows, D});
}

static ll_array row(const void *data, ll_dtype dtype, int64_t rows) {
    return ll_array_view(data, dtype, 1, (int64_t[]){rows});
}

/* enc.npz without the array `without`. */
static const char *make(ll_context *ctx, const char *without) {
    for (int i = 0; i < N * D; i++)
        z[i] = (float)check_uniform(1, i);
    for (int i = 0; i < N; i++)
        y[i] = i % K;
    for (int i = 0; i < K * D; i++)
        W[i] = (float)i;
    const ll_named_array all[ARRAYS] = {{"features_train", matrix(z, 12)},        {"labels_train", row(y, LL_DTYPE_I32, 12)},
                                        {"features_val", matrix(z + 12 * D, 4)},  {"labels_val", row(y + 12, LL_DTYPE_I32, 4)},
                                        {"features_test", matrix(z + 16 * D, 6)}, {"labels_test", row(y + 16, LL_DTYPE_I32, 6)},
                                        {"features_out", matrix(z + 22 * D, 2)},  {"W", matrix(W, K)},
                                        {"b", row(b, LL_DTYPE_F32, K)},           {"classes", row(classes, LL_DTYPE_I32, K)}};
    ll_named_array some[ARRAYS];
    int64_t count = 0;
    for (int i = 0; i < ARRAYS; i++)
        if (!without || strcmp(all[i].name, without) != 0)
            some[count++] = all[i];
    const char *path = folder_path("enc.npz");
    CHECK_OK(ctx, ll_bundle_write(ctx, path, some, count, NULL, 0));
    return path;
}

static void check_part(const ll_dataset *data, const float *features, const int32_t *labels, int64_t rows) {
    assert_non_null(data);
    assert_int_equal(ll_dataset_rows(data), rows);
    assert_memory_equal(data->rows.features, features, (size_t)(rows * D) * sizeof *features);
    assert_int_equal(ll_dataset_classes(data), labels ? K : 0);
    if (labels)
        assert_memory_equal(ll_dataset_labels(data), labels, (size_t)rows * sizeof *labels);
    else
        assert_null(ll_dataset_labels(data));
}

static void check_whole(const ll_encoded *e) {
    check_part(ll_encoded_train(e), z, y, 12);
    check_part(ll_encoded_val(e), z + 12 * D, y + 12, 4);
    check_part(ll_encoded_test(e), z + 16 * D, y + 16, 6);
    check_part(ll_encoded_out(e), z + 22 * D, NULL, 2);
    assert_memory_equal(ll_head_weight_view(ll_encoded_head(e)).data, W, sizeof W);
    assert_memory_equal(ll_encoded_classes(e).data, classes, sizeof classes);
}

static void test_parts(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_encoded *e;
    CHECK_OK(ctx, ll_encoded_read(&e, ctx, make(ctx, NULL)));
    check_whole(e);
    ll_encoded_free(e);
    static const char *const names[] = {"features_train", "features_val", "features_test", "features_out", "W", "classes"};
    for (size_t i = 0; i < LLI_COUNT(names); i++) {
        CHECK_OK(ctx, ll_encoded_read(&e, ctx, make(ctx, names[i])));
        const void *parts[] = {ll_encoded_train(e), ll_encoded_val(e), ll_encoded_test(e), ll_encoded_out(e), ll_encoded_head(e)};
        for (size_t j = 0; j < LLI_COUNT(parts); j++)
            assert_int_equal(parts[j] == NULL, i == j);
        assert_int_equal(ll_encoded_classes(e).rank, i == 5 ? -1 : 1);
        ll_encoded_free(e);
    }
    ll_context_free(ctx);
}

/* The rows and hashes of ll_dataset_read, whether labels lie in the same file, in another open one, or in one to be read. */
static void test_from_bundle(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const char *path = make(ctx, NULL);
    char features[2400], labels[2400];
    snprintf(features, sizeof features, "%s:features_test", path);
    snprintf(labels, sizeof labels, "%s:labels_test", path);
    ll_bundle *bundle, *other;
    ll_dataset *data, *read;
    CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, path));
    CHECK_OK(ctx, ll_bundle_read(&other, ctx, path));
    assert_string_equal(ll_bundle_path(bundle), path);
    CHECK_OK(ctx, ll_dataset_read(&read, ctx, features, labels, K));
    const ll_bundle *const where[] = {bundle, other, NULL};
    for (size_t i = 0; i < LLI_COUNT(where); i++) {
        CHECK_OK(ctx, ll_dataset_from_bundle(&data, ctx, bundle, "features_test", where[i], where[i] ? "labels_test" : labels, K));
        check_part(data, z + 16 * D, y + 16, 6);
        assert_string_equal(data->features_hash, read->features_hash);
        assert_string_equal(data->labels_hash, read->labels_hash);
        ll_dataset_free(data);
    }
    CHECK_FAILS(ctx, LL_ERR_USAGE, "has no array \"x\"; it holds", ll_dataset_from_bundle(&data, ctx, bundle, "x", NULL, NULL, 0));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "choose one", ll_dataset_from_bundle(&data, ctx, bundle, NULL, NULL, NULL, 0));
    CHECK_FAILS(ctx, LL_ERR_DATA, "enc.npz:labels_val: 4 labels for 6 rows",
                ll_dataset_from_bundle(&data, ctx, bundle, "features_test", bundle, "labels_val", K));
    ll_dataset_free(read);
    ll_bundle_free(bundle);
    ll_bundle_free(other);
    ll_context_free(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_encoded *e;
    const char *path = make(ctx, "labels_train");
    CHECK_FAILS(ctx, LL_ERR_DATA, "enc.npz has no features_train with labels_train", lli_encoded_read_training(&e, ctx, path));
    assert_null(e);
    CHECK_FAILS(ctx, LL_ERR_READ, "none.npz", ll_encoded_read(&e, ctx, folder_path("none.npz")));
    ll_named_array arrays[] = {{"W", matrix(W, K)}, {"features_test", matrix(z, 3)}, {"classes", row(classes, LL_DTYPE_I32, K - 1)}};
    path = folder_path("part.npz");
    CHECK_OK(ctx, ll_bundle_write(ctx, path, arrays, 1, NULL, 0));
    CHECK_FAILS(ctx, LL_ERR_DATA, "part.npz has none of features_train, features_val, features_test and features_out",
                ll_encoded_read(&e, ctx, path));
    CHECK_OK(ctx, ll_bundle_write(ctx, path, arrays, 3, NULL, 0));
    CHECK_FAILS(ctx, LL_ERR_DATA, "part.npz:classes is [2] i32; expected", ll_encoded_read(&e, ctx, path));
    arrays[2].array = row(b, LL_DTYPE_F32, K);
    CHECK_OK(ctx, ll_bundle_write(ctx, path, arrays, 3, NULL, 0));
    CHECK_FAILS(ctx, LL_ERR_DATA, "part.npz:classes is [3] f32; expected", ll_encoded_read(&e, ctx, path));
    float bad = z[2 * D + 1];
    z[2 * D + 1] = NAN;
    CHECK_OK(ctx, ll_bundle_write(ctx, path, arrays, 2, NULL, 0));
    z[2 * D + 1] = bad;
    CHECK_FAILS(ctx, LL_ERR_DATA, "part.npz:features_test: NaN at row 2, column 1", ll_encoded_read(&e, ctx, path));
    assert_null(e);
    ll_context_free(ctx);
}

static void test_memory(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const char *path = make(ctx, NULL);
    ll_encoded *e;
    ll_status status = LL_ERR_MEMORY;
    for (int64_t n = 1; status != LL_OK; n++) {
        lli_memory_fail_at(ctx, n);
        status = ll_encoded_read(&e, ctx, path);
        lli_memory_fail_at(ctx, 0);
        if (status != LL_OK) {
            assert_int_equal(status, LL_ERR_MEMORY);
            assert_null(e);
        }
    }
    check_whole(e);
    ll_encoded_free(e);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_from_bundle), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
