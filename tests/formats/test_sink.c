/* SPDX-License-Identifier: MIT */
/* Sinks and the public functions above them: order of rows, interleaving, names, conversions, refusals. */
#include "samples.h"

#include "base/array.h"
#include "formats/format.h"

enum { N = 5, D = 3 };

static const float x[N * D] = {0.1f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1e-20f}; /* [N,D] */
static const int32_t y[N] = {4, 3, 2, 1, -7};

static void make_specs(ll_named_array specs[2]) {
    specs[0] = (ll_named_array){"x", ll_array_view(NULL, LL_DTYPE_F32, 2, (int64_t[]){N, D})};
    specs[1] = (ll_named_array){"y", ll_array_view(NULL, LL_DTYPE_I32, 1, (int64_t[]){N})};
}

/* y comes late and in pieces: a format that writes by row has to wait for it. */
static void write_interleaved(ll_context *ctx, const char *path, const ll_meta *meta, int64_t meta_count) {
    ll_named_array specs[2];
    lli_sink *sink;
    make_specs(specs);
    CHECK_OK(ctx, lli_file_sink_open(&sink, ctx, path, specs, 2, meta, meta_count));
    CHECK_OK(ctx, lli_sink_write(sink, ctx, 0, 0, 3, x));
    CHECK_OK(ctx, lli_sink_write(sink, ctx, 1, 0, 1, y));
    CHECK_OK(ctx, lli_sink_write(sink, ctx, 0, 3, 0, NULL));
    CHECK_OK(ctx, lli_sink_write(sink, ctx, 0, 3, 2, x + 3 * D));
    CHECK_OK(ctx, lli_sink_write(sink, ctx, 1, 1, 4, y + 1));
    assert_int_not_equal(access(path, F_OK), 0);
    CHECK_OK(ctx, lli_sink_commit(sink, ctx));
}

static void test_interleaved(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const ll_meta meta[] = {{"seed", "1"}, {"odd \"key\"\n", "v\\al\x01ue \xc3\xa9"}};
    static const char *const names[] = {"a.npz", "a.safetensors", "a.csv"};
    for (size_t i = 0; i < LLI_COUNT(names); i++) {
        const char *path = sample_temporary(names[i]), *again = sample_temporary(i == 0 ? "b.npz" : i == 1 ? "b.safetensors" : "b.csv");
        ll_bundle *bundle;
        write_interleaved(ctx, path, meta, 2);
        CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, path));
        ll_array ax = ll_bundle_array(bundle, ll_bundle_find(bundle, "x")), ay = ll_bundle_array(bundle, ll_bundle_find(bundle, "y"));
        assert_true(ax.rank == 2 && ax.shape[0] == N && ax.shape[1] == D && ay.rank == 1 && ay.shape[0] == N);
        for (int k = 0; k < N * D; k++)
            assert_true((float)lli_array_real(&ax, k) == x[k]);
        for (int k = 0; k < N; k++)
            assert_true(lli_array_real(&ay, k) == y[k]);
        if (i < 2) {
            assert_int_equal((uintptr_t)ax.data % 64, 0); /* in place, and aligned for any vector unit */
            assert_null(bundle->items[0].owned);
            assert_int_equal(ll_bundle_meta_count(bundle), 2);
            for (int k = 0; k < 2; k++) {
                assert_string_equal(ll_bundle_meta_key(bundle, k), meta[k].key);
                assert_string_equal(ll_bundle_meta_value(bundle, k), meta[k].value);
            }
        }
        ll_bundle_free(bundle);
        /* The same arrays give the same bytes, however they come. */
        ll_named_array whole[2];
        make_specs(whole);
        whole[0].array.data = x;
        whole[1].array.data = y;
        CHECK_OK(ctx, ll_bundle_write(ctx, again, whole, 2, meta, 2));
        size_t size, other;
        unsigned char *one = sample_bytes(path, &size), *two = sample_bytes(again, &other);
        assert_int_equal(size, other);
        assert_memory_equal(one, two, size);
        free(one);
        free(two);
        unlink(path);
        unlink(again);
    }
    ll_context_free(ctx);
}

static void test_csv_text(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const char *path = sample_temporary("t.csv");
    write_interleaved(ctx, path, NULL, 0);
    size_t size;
    unsigned char *bytes = sample_bytes(path, &size);
    const char expected[] = "x_0,x_1,x_2,y\n0.1,1,2,4\n3,4,5,3\n6,7,8,2\n9,10,11,1\n12,13,1e-20,-7\n";
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(bytes, expected, size);
    free(bytes);
    unlink(path);
    ll_context_free(ctx);
}

static void test_order_of_rows(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_named_array specs[2];
    lli_sink *sink;
    const char *npz = sample_temporary("o.npz"), *safetensors = sample_temporary("o.safetensors");
    make_specs(specs);
    CHECK_OK(ctx, lli_file_sink_open(&sink, ctx, npz, specs, 2, NULL, 0));
    CHECK_FAILS(ctx, LL_ERR_INTERNAL, "in the wrong place", lli_sink_write(sink, ctx, 0, 1, 1, x));
    CHECK_FAILS(ctx, LL_ERR_INTERNAL, "in the wrong place", lli_sink_write(sink, ctx, 0, 0, N + 1, x));
    CHECK_FAILS(ctx, LL_ERR_INTERNAL, "no array 2", lli_sink_write(sink, ctx, 2, 0, 1, x));
    CHECK_FAILS(ctx, LL_ERR_INTERNAL, "got 0 of its 5 rows", lli_sink_commit(sink, ctx));
    assert_int_not_equal(access(npz, F_OK), 0);
    CHECK_OK(ctx, lli_file_sink_open(&sink, ctx, safetensors, specs, 1, NULL, 0));
    assert_true(sink->any_order);
    CHECK_OK(ctx, lli_sink_write(sink, ctx, 0, 3, 2, x + 3 * D));
    CHECK_OK(ctx, lli_sink_write(sink, ctx, 0, 0, 3, x));
    CHECK_OK(ctx, lli_sink_commit(sink, ctx));
    ll_bundle *bundle;
    ll_array a;
    CHECK_OK(ctx, ll_array_read(&bundle, &a, ctx, safetensors, NULL));
    assert_memory_equal(a.data, x, sizeof x);
    ll_bundle_free(bundle);
    unlink(safetensors);
    ll_context_free(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_named_array specs[3];
    lli_sink *sink;
    make_specs(specs);
    const struct {
        const char *name, *words;
        int64_t count;
        ll_dtype dtype;
        int rank;
        int64_t shape[3];
    } cases[] = {
        {"r.npy", ".npy holds one array but there are 3; choose one with FILE:NAME", 3, LL_DTYPE_F32, 1, {N}},
        {"r.idx", "IDX holds one array", 3, LL_DTYPE_F32, 1, {N}},
        {"r.csv", "the same number of rows; \"x\" has 5 and \"z\" 4", 3, LL_DTYPE_F32, 1, {4}},
        {"r.csv", "one or two dimensions; \"z\" has 3", 3, LL_DTYPE_F32, 3, {N, 2, 2}},
        {"r.npz", "no type bf16", 3, LL_DTYPE_BF16, 1, {N}},
        {"r.npz", "the shape of \"z\" is impossible", 3, LL_DTYPE_F64, 2, {INT64_MAX / 2, 3}},
        {"r.npz", "impossible", 3, LL_DTYPE_F64, 1, {-1}},
        {"r.tar", "the format to write is unknown", 3, LL_DTYPE_F32, 1, {N}},
        {"r.npz", "no array to write", 0, LL_DTYPE_F32, 1, {N}},
    };
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        specs[2] = (ll_named_array){"z", ll_array_view(NULL, cases[i].dtype, cases[i].rank, cases[i].shape)};
        CHECK_FAILS(ctx, LL_ERR_USAGE, cases[i].words,
                    lli_file_sink_open(&sink, ctx, sample_temporary(cases[i].name), specs, cases[i].count, NULL, 0));
        assert_null(sink);
    }
    specs[2].name = "x";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "two arrays have the name \"x\"",
                lli_file_sink_open(&sink, ctx, sample_temporary("r.npz"), specs, 3, NULL, 0));
    specs[2].name = "__metadata__";
    specs[2].array.shape[0] = 1;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "__metadata__", lli_file_sink_open(&sink, ctx, sample_temporary("r.safetensors"), specs, 3, NULL, 0));
    ll_context_free(ctx);
}

static void test_file_and_name(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_bundle *bundle;
    ll_array a;
    char where[4096];
    const char *npz = sample_temporary("c.npz"), *colon = sample_temporary("c.npz:y"), *csv = sample_temporary("c.csv");
    static const char *const names[] = {"features", "x", NULL};
    write_interleaved(ctx, npz, NULL, 0);
    write_interleaved(ctx, csv, NULL, 0);
    CHECK_OK(ctx, ll_array_read(&bundle, &a, ctx, colon, NULL));
    assert_true(a.dtype == LL_DTYPE_I32 && ll_bundle_count(bundle) == 1 && strcmp(ll_bundle_name(bundle, 0), "y") == 0);
    ll_bundle_free(bundle);
    CHECK_OK(ctx, ll_array_read(&bundle, &a, ctx, npz, names));
    assert_int_equal(a.dtype, LL_DTYPE_F32);
    ll_bundle_free(bundle);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "holds several arrays (x, y); choose one with", ll_array_read(&bundle, &a, ctx, npz, NULL));
    snprintf(where, sizeof where, "%s:w", npz);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "has no array \"w\"; it holds x, y", ll_array_read(&bundle, &a, ctx, where, names));
    /* A .csv by itself is its whole table, also when a column has one of the names. */
    CHECK_OK(ctx, ll_array_read(&bundle, &a, ctx, csv, names));
    assert_true(a.rank == 2 && a.shape[1] == 4);
    ll_bundle_free(bundle);
    snprintf(where, sizeof where, "%s:x_1", csv);
    CHECK_OK(ctx, ll_array_read(&bundle, &a, ctx, where, NULL));
    assert_true(a.rank == 1 && lli_array_real(&a, 1) == 4);
    ll_bundle_free(bundle);
    /* A path that exists as a whole is never split. */
    size_t size;
    unsigned char *bytes = sample_bytes(sample_path("npy/f4.npy"), &size);
    sample_write(colon, bytes, size);
    free(bytes);
    CHECK_OK(ctx, ll_array_read(&bundle, &a, ctx, colon, NULL));
    assert_string_equal(ll_bundle_format(bundle), "npy");
    ll_bundle_free(bundle);
    CHECK_FAILS(ctx, LL_ERR_READ, "cannot be opened", ll_array_read(&bundle, &a, ctx, sample_temporary("no.npz:x"), NULL));
    unlink(colon);
    unlink(npz);
    unlink(csv);
    ll_context_free(ctx);
}

static void test_convert_refusals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const char *from = sample_temporary("v.npz"), *to = sample_temporary("v.npy");
    const double wide[3] = {1, 70000, -3};
    const uint64_t huge[1] = {UINT64_MAX};
    ll_named_array arrays[] = {{"wide", ll_array_view(wide, LL_DTYPE_F64, 1, (int64_t[]){3})},
                               {"huge", ll_array_view(huge, LL_DTYPE_U64, 1, (int64_t[]){1})}};
    char where[4096], name[4096];
    CHECK_OK(ctx, ll_bundle_write(ctx, from, arrays, 2, NULL, 0));
    snprintf(where, sizeof where, "%s:wide", from);
    snprintf(name, sizeof name, "%s:huge", from);
    ll_convert_options options = ll_convert_options_default();
    options.dtype = "f16";
    CHECK_FAILS(ctx, LL_ERR_DATA, "element 1 of \"wide\" is 70000, which does not fit f16", ll_convert(ctx, to, where, &options));
    options.dtype = "u32";
    CHECK_FAILS(ctx, LL_ERR_DATA, "element 2 of \"wide\" is -3, which does not fit u32", ll_convert(ctx, to, where, &options));
    options.dtype = "i64";
    CHECK_FAILS(ctx, LL_ERR_DATA, "does not fit i64", ll_convert(ctx, to, name, &options));
    options.dtype = "f31";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "dtype is f31", ll_convert(ctx, to, where, &options));
    options = ll_convert_options_default();
    options.divide = 0;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "divide is 0", ll_convert(ctx, to, where, &options));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "FILE:NAME", ll_convert(ctx, to, from, NULL));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "replace its own input", ll_convert(ctx, from, where, NULL));
    assert_int_not_equal(access(to, F_OK), 0);
    unlink(from);
    ll_context_free(ctx);
}

static int leave(void **state) {
    (void)state;
    return rmdir(sample_temporary(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interleaved), cmocka_unit_test(test_csv_text),      cmocka_unit_test(test_order_of_rows),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_file_and_name), cmocka_unit_test(test_convert_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, leave);
}
