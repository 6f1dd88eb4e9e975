/* SPDX-License-Identifier: MIT */
/* The readers against damage: every prefix, every byte, every failed allocation, and headers that lie. That they read rightly what numpy
 * writes is roundtrip.py's matter. */
#include "samples.h"

#include <math.h>
#include <zlib.h>

#include "base/array.h"
#include "formats/bytes.h"

/* Parses a copy of exactly that many bytes, and reads every element of what comes out. */
static ll_status parse(ll_context *ctx, sample_reader *reader, const void *bytes, size_t size) {
    unsigned char *copy = malloc(size + !size);
    ll_bundle *bundle;
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    CHECK_OK(ctx, lli_bundle_new(&bundle, ctx, "test"));
    ctx->message[0] = 0;
    ll_status status = reader(ctx, bundle, copy, size, "t");
    volatile double sum = 0;
    for (int64_t i = 0; status == LL_OK && i < bundle->count; i++) {
        ll_array a = ll_bundle_array(bundle, i);
        for (int64_t k = 0; k < lli_array_count(&a); k++)
            sum = sum + lli_array_real(&a, k);
    }
    if (status != LL_OK)
        assert_true(ctx->message[0] != 0);
    ll_bundle_free(bundle);
    free(copy);
    return status;
}

static void test_prefixes(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (size_t i = 0; i < LLI_COUNT(samples); i++) {
        size_t size;
        unsigned char *bytes = sample_bytes(sample_path(samples[i].path), &size);
        CHECK_OK(ctx, parse(ctx, samples[i].parse, bytes, size));
        for (size_t n = 0; n < size; n++) {
            ll_status status = parse(ctx, samples[i].parse, bytes, n);
            if (status != LL_ERR_FORMAT && (samples[i].prefixes_fail || status != LL_OK))
                fail_msg("%s cut at %zu: %s (%s)", samples[i].path, n, ll_status_name(status), ctx->message);
        }
        free(bytes);
    }
    ll_context_free(ctx);
}

static void test_damaged_bytes(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (size_t i = 0; i < LLI_COUNT(samples); i++) {
        size_t size;
        unsigned char *bytes = sample_bytes(sample_path(samples[i].path), &size);
        for (size_t n = 0; n < size; n++) {
            unsigned char old = bytes[n], tries[] = {0, 0xff, old ^ 1, old ^ 0x80, (unsigned char)(old + 1)};
            for (size_t k = 0; k < sizeof tries; k++) {
                bytes[n] = tries[k];
                ll_status status = parse(ctx, samples[i].parse, bytes, size);
                if (status != LL_OK && status != LL_ERR_FORMAT)
                    fail_msg("%s, byte %zu = %d: %s", samples[i].path, n, tries[k], ctx->message);
            }
            bytes[n] = old;
        }
        free(bytes);
    }
    ll_context_free(ctx);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (size_t i = 0; i < LLI_COUNT(samples); i++) {
        ll_bundle *bundle;
        ll_status status = LL_ERR_MEMORY;
        int failures = 0;
        for (int64_t n = 1; status == LL_ERR_MEMORY && n < 1000; n++) {
            lli_memory_fail_at(ctx, n);
            status = ll_bundle_read(&bundle, ctx, sample_path(samples[i].path));
            lli_memory_fail_at(ctx, 0);
            failures += status == LL_ERR_MEMORY;
        }
        CHECK_OK(ctx, status);
        assert_true(failures >= 3);
        ll_bundle_free(bundle);
    }
    ll_context_free(ctx);
}

/* Every reader that walks over its data looks whether it should stop. */
static void test_cancelled(void **state) {
    (void)state;
    static const char *const paths[] = {"csv/named.csv",    "idx/f64.idx",    "idx_gz/u8.idx.gz", "npy/f8_big_fortran_v2.npy",
                                        "npz/deflated.npz", "npz/stored.npz", "png/rgb.png"};
    for (size_t i = 0; i < LLI_COUNT(paths); i++) {
        ll_context *ctx = check_context(1);
        ll_bundle *bundle;
        CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, sample_path(paths[i])));
        ll_bundle_free(bundle);
        ll_context_cancel(ctx);
        CHECK_FAILS(ctx, LL_ERR_CANCELLED, "interrupted", ll_bundle_read(&bundle, ctx, sample_path(paths[i])));
        ll_context_free(ctx);
    }
}

static size_t npy_text(unsigned char *out, const char *header, size_t data) {
    size_t length = strlen(header);
    memcpy(out, "\x93NUMPY\1", 8);
    lli_bytes_put(out + 8, length, 2);
    memcpy(out + 10, header, length);
    memset(out + 10 + length, 0, data);
    return 10 + length + data;
}

static void test_npy_headers(void **state) {
    (void)state;
    static const struct {
        const char *header, *words;
        size_t data;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (100, 1), }", "promises 400 bytes of data but the file has 12; it is truncated",
         12},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "promises 8 bytes of data but the file has 12", 12},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999, 999999999999), }", "overflows", 12},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999999, 8), }", "overflows", 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "damaged", 12},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", "damaged", 12},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3), 'shape': (3,)}", "damaged", 12},
        {"{'descr': '<f4', 'fortran_order': False}", "damaged", 12},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,)}", "damaged", 12},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", "damaged", 12},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", "damaged", 12},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,3)}", "more than 8 dimensions", 12},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", "\"<c8\" is not read", 24},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (3,)}", "not read", 48},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (3,)}", "not read", 36},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", "Python objects", 36},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", "structured", 12},
        {"", "damaged", 12},
    };
    ll_context *ctx = check_context(1);
    unsigned char bytes[512];
    for (size_t i = 0; i < LLI_COUNT(cases); i++)
        CHECK_FAILS(ctx, LL_ERR_FORMAT, cases[i].words, parse(ctx, lli_npy_parse, bytes, npy_text(bytes, cases[i].header, cases[i].data)));
    size_t size = npy_text(bytes, "{\"shape\": (3L,), 'fortran_order': True,'descr':\"=f4\" }\n", 12);
    CHECK_OK(ctx, parse(ctx, lli_npy_parse, bytes, size));
    bytes[6] = 4;
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "version 4", parse(ctx, lli_npy_parse, bytes, size));
    ll_context_free(ctx);
}

static size_t safetensors_text(unsigned char *out, const char *header, size_t data) {
    size_t length = strlen(header);
    lli_bytes_put(out, length, 8);
    memcpy(out + 8, header, length);
    memset(out + 8 + length, 0, data);
    return 8 + length + data;
}

static void test_safetensors_headers(void **state) {
    (void)state;
    static const struct {
        const char *header, *words;
    } cases[] = {
        /* all with 16 bytes of data */
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[5],\"data_offsets\":[0,20]}}",
         "ends at byte 20 of the data but the file has 16; it is truncated"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,16]}}", "needs 12 bytes but its data_offsets are 0 to 16"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,0]}}", "needs 16 bytes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[-16,0]}}", "needs 16 bytes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[9223372036854775792,9223372036854775807]}}", "needs 16 bytes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", "overflows"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-4],\"data_offsets\":[0,16]}}", "not a list of whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4.0],\"data_offsets\":[0,16]}}", "not a list of whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,4],\"data_offsets\":[0,16]}}", "more than 8"},
        {"{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[16],\"data_offsets\":[0,16]}}", "F8_E4M3, which is not read"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4]}}", "damaged"},
        {"{\"a\":7}", "damaged"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
         "not JSON"},
        {"{\"__metadata__\":{\"a\":1}}", "are not a text"},
        {"{\"__metadata__\":[]}", "object of texts"},
        {"[]", "not a JSON object"},
        {"{", "not JSON"},
    };
    ll_context *ctx = check_context(1);
    unsigned char bytes[512];
    for (size_t i = 0; i < LLI_COUNT(cases); i++)
        CHECK_FAILS(ctx, LL_ERR_FORMAT, cases[i].words,
                    parse(ctx, lli_safetensors_parse, bytes, safetensors_text(bytes, cases[i].header, 16)));
    size_t size = safetensors_text(bytes, "{}", 16);
    lli_bytes_put(bytes, UINT64_MAX, 8);
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "impossible", parse(ctx, lli_safetensors_parse, bytes, size));
    lli_bytes_put(bytes, 1000, 8);
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "promises 1000 bytes but the file has 18", parse(ctx, lli_safetensors_parse, bytes, size));
    ll_context_free(ctx);
}

static void test_idx_headers(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const unsigned char rank[] = {0, 0, 8, 9, 0, 0, 0, 1}, none[] = {0, 0, 8, 0, 1}, type[] = {0, 0, 10, 1, 0, 0, 0, 1, 5};
    static const unsigned char big[] = {0, 0, 14, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1};
    static const unsigned char longer[] = {0, 0, 8, 1, 0, 0, 0, 1, 5, 6}, shorter[] = {0, 0, 8, 1, 0, 0, 0, 3, 5, 6};
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "9 dimensions", parse(ctx, lli_idx_parse, rank, sizeof rank));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "0 dimensions", parse(ctx, lli_idx_parse, none, sizeof none));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "does not start like an IDX", parse(ctx, lli_idx_parse, type, sizeof type));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "overflows", parse(ctx, lli_idx_parse, big, sizeof big));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "a file of 9 bytes but it has 10", parse(ctx, lli_idx_parse, longer, sizeof longer));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "11 bytes but it has 10; it is truncated", parse(ctx, lli_idx_parse, shorter, sizeof shorter));
    ll_context_free(ctx);
}

/* gzip of `in` by zlib itself. */
static size_t gzip(unsigned char *out, size_t capacity, const void *in, size_t size) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)in;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)capacity;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t made = capacity - z.avail_out;
    deflateEnd(&z);
    return made;
}

static void test_gzip_contents(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    unsigned char out[256];
    /* 4 GiB - 1 promised, hardly anything there; one byte more, one less; something else altogether. */
    static const unsigned char bomb[] = {0, 0, 8, 1, 255, 255, 255, 255, 1}, longer[] = {0, 0, 8, 1, 0, 0, 0, 1, 5, 6};
    static const unsigned char shorter[] = {0, 0, 8, 1, 0, 0, 0, 3, 5, 6};
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "cannot hold", parse(ctx, lli_idx_gz_parse, out, gzip(out, sizeof out, bomb, sizeof bomb)));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "hold more than the 9 bytes",
                parse(ctx, lli_idx_gz_parse, out, gzip(out, sizeof out, longer, sizeof longer)));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "hold 10 bytes instead of the 11",
                parse(ctx, lli_idx_gz_parse, out, gzip(out, sizeof out, shorter, sizeof shorter)));
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "not an IDX file", parse(ctx, lli_idx_gz_parse, out, gzip(out, sizeof out, "1,2\n3,4\n", 8)));
    size_t size = gzip(out, sizeof out, "\0\0\x08\1\0\0\0\2ab", 10);
    CHECK_OK(ctx, parse(ctx, lli_idx_gz_parse, out, size));
    out[size - 8] ^= 1;
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "damaged", parse(ctx, lli_idx_gz_parse, out, size));
    ll_context_free(ctx);
}

static void test_csv_text(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"1,2\n3,x\n", "line 2, column 2: \"x\" is not a number"},
        {"a,b\n1,2\n3\n", "line 3 has 1 columns where the first has 2"},
        {"1,2\n3,4,5\n", "line 2 has 3 columns where the first has 2"},
        {"1,2\n\n3,4\n", "line 2 is empty"},
        {"1,2\n3,\n", "line 2, column 2: \"\" is not a number"},
        {"1,,2\n3,4,5\n", "line 1, column 2: \"\" is not a number"},
        {",0,1\n3,4,5\n", "line 1, column 1: \"\" is not a number"},
        {"1\n0x10\n", "\"0x10\" is not a number"},
        {"1\n1e\n", "\"1e\" is not a number"},
        {"1\n1 2\n", "\"1 2\" is not a number"},
        {"1,2\n3,1e400\n", "line 2, column 2: \"1e400\" is too large for f64"},
        {"1,2\n-1e309,4\n", "line 2, column 1: \"-1e309\" is too large for f64"},
        {"1e400\n2\n", "line 1, column 1: \"1e400\" is too large for f64"},
        {"1,2\n3,\"4\n", "line 2, column 2: \"4\" has a quotation mark that is not closed"},
        {"1,2\n3,\"4", "line 2, column 2: \"4\" has a quotation mark that is not closed"},
        {"a,\"b\n1,2\n", "line 1, column 2: \"b\" has a quotation mark that is not closed"},
        {"1,2\n\"3\"4,5\n", "line 2, column 1: \"3\" has a quotation mark that is not closed, or text after the closing one"},
        {"a,b\n", "has the names of 2 columns but no row"},
        {"\n\n", "holds no numbers"},
        {"# only\n", "holds no numbers"},
    };
    ll_context *ctx = check_context(1);
    for (size_t i = 0; i < LLI_COUNT(cases); i++)
        CHECK_FAILS(ctx, LL_ERR_FORMAT, cases[i].words, parse(ctx, lli_csv_parse, cases[i].text, strlen(cases[i].text)));
    ll_context_free(ctx);
}

/* Where in the sample the n-th appearance of a signature is. */
static size_t find(const unsigned char *bytes, size_t size, const char *signature, int n) {
    for (size_t i = 0; i + 4 <= size; i++)
        if (memcmp(bytes + i, signature, 4) == 0 && n-- == 0)
            return i;
    fail_msg("the sample has no such record");
    return 0;
}

static void test_npz_directory(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    size_t size;
    unsigned char *bytes = sample_bytes(sample_path("npz/stored.npz"), &size), *copy = malloc(size);
    assert_non_null(copy);
    size_t entry = find(bytes, size, "PK\1\2", 0), end = find(bytes, size, "PK\5\6", 0);
#define CHANGED(offset, value, width, words)                                             \
    do {                                                                                 \
        memcpy(copy, bytes, size);                                                       \
        lli_bytes_put(copy + (offset), (value), (width));                                \
        CHECK_FAILS(ctx, LL_ERR_FORMAT, (words), parse(ctx, lli_npz_parse, copy, size)); \
    } while (0)
    CHANGED(entry + 8, 1, 2, "encrypted");
    CHANGED(entry + 10, 12, 2, "method 12");
    CHANGED(entry + 16, 0, 4, "checksum of \"x\" is wrong");
    CHANGED(entry + 20, 4000, 4, "longer than the file");
    CHANGED(entry + 24, 40000000, 4, "disagree");
    CHANGED(entry + 42, 7, 4, "not where the directory says");
    CHANGED(entry + 42, 0xfffffff0, 4, "not where the directory says");
    CHANGED(entry + 28, 60000, 2, "directory of the zip archive is damaged");
    CHANGED(end + 10, 9, 2, "damaged");
    CHANGED(end + 16, 1 << 30, 4, "damaged");
    CHANGED(end, 0, 4, "truncated");
    free(copy);
    free(bytes);
    /* A promise that no compressed stream of that length can keep. */
    bytes = sample_bytes(sample_path("npz/deflated.npz"), &size);
    copy = malloc(size);
    assert_non_null(copy);
    entry = find(bytes, size, "PK\1\2", 0);
    CHANGED(entry + 24, 0xf0000000, 4, "cannot hold");
    CHANGED(entry + 24, 151, 4, "hold more than the 151 bytes");
    CHANGED(entry + 24, 153, 4, "instead of the 153 promised");
    free(copy);
    free(bytes);
    ll_context_free(ctx);
}

/* A name that occurs twice is refused whatever the format. */
static void test_duplicate_names(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_bundle *bundle;
    const char *path = sample_temporary("twice.csv");
    sample_write(path, "a,a\n1,2\n", 8);
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "two arrays have the name \"a\"", ll_bundle_read(&bundle, ctx, path));
    unlink(path);
    ll_context_free(ctx);
}

static void test_csv_in_quotes(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_bundle *bundle;
    const char text[] = "\"a \"\"b\"\"\", \"c\" \r\n\"1\" ,\"2.5\"\r\ninf,-nan\r\n";
    CHECK_OK(ctx, lli_bundle_new(&bundle, ctx, "csv"));
    CHECK_OK(ctx, lli_csv_parse(ctx, bundle, (const unsigned char *)text, sizeof text - 1, "t"));
    ll_array all = ll_bundle_array(bundle, 0);
    assert_true(all.shape[0] == 2 && all.shape[1] == 2);
    const double *x = all.data;
    assert_true(x[0] == 1 && x[1] == 2.5 && isinf(x[2]) && isnan(x[3]));
    assert_true(ll_bundle_find(bundle, "a \"b\"") >= 0 && ll_bundle_find(bundle, "c") >= 0);
    ll_bundle_free(bundle);
    ll_context_free(ctx);
}

static void test_csv_without_a_column(void **state) {
    (void)state;
    static const struct {
        const char *column, *columns; /* left; NULL: the whole file */
        int64_t count;
        double expected[6];
    } cases[] = {
        {"b", "a, c", 2, {1, 3, 4, 6}},
        {"a", "b, c", 2, {2, 3, 5, 6}},
        {"d", NULL, 3, {1, 2, 3, 4, 5, 6}},
        {NULL, NULL, 3, {1, 2, 3, 4, 5, 6}},
    };
    const char text[] = "a,b,c\n1.0,2,3\n4,5,6\n";
    ll_context *ctx = check_context(1);
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        ll_bundle *bundle;
        CHECK_OK(ctx, lli_bundle_new(&bundle, ctx, "csv"));
        CHECK_OK(ctx, lli_csv_without(ctx, bundle, (const unsigned char *)text, sizeof text - 1, "t", cases[i].column));
        ll_array all = ll_bundle_array(bundle, 0);
        assert_true(all.rank == 2 && all.shape[0] == 2 && all.shape[1] == cases[i].count);
        assert_memory_equal(all.data, cases[i].expected, (size_t)(2 * cases[i].count) * sizeof(double));
        const char *columns = lli_bundle_meta(bundle, "columns");
        assert_true(columns ? cases[i].columns && strcmp(columns, cases[i].columns) == 0 : !cases[i].columns);
        assert_int_equal(ll_bundle_count(bundle), cases[i].columns ? 1 : 4);
        ll_bundle_free(bundle);
    }
    ll_context_free(ctx);
}

static void test_numbers_of_csv(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_bundle *bundle;
    const char text[] = "\xef\xbb\xbf"
                        "id,p_0,p_1,big\n# skipped\n1,0.1,1e22,9007199254740993\n-2,123456789012345678901234567890,4.9e-324,-1\n\n";
    CHECK_OK(ctx, lli_bundle_new(&bundle, ctx, "csv"));
    CHECK_OK(ctx, lli_csv_parse(ctx, bundle, (const unsigned char *)text, sizeof text - 1, "t"));
    ll_array all = ll_bundle_array(bundle, ll_bundle_find(bundle, "array")), p = ll_bundle_array(bundle, ll_bundle_find(bundle, "p"));
    ll_array id = ll_bundle_array(bundle, ll_bundle_find(bundle, "id")), big = ll_bundle_array(bundle, ll_bundle_find(bundle, "big"));
    assert_int_equal(all.dtype, LL_DTYPE_F64);
    assert_true(all.shape[0] == 2 && all.shape[1] == 4 && all.rank == 2);
    assert_int_equal(id.dtype, LL_DTYPE_I64);
    assert_true(((const int64_t *)id.data)[1] == -2 && id.rank == 1);
    assert_int_equal(big.dtype, LL_DTYPE_F64); /* 2^53 + 1 is not exact in the table */
    const double expected[] = {0.1, 1e22, 123456789012345678901234567890.0, 4.9e-324};
    assert_true(p.rank == 2 && p.shape[1] == 2);
    assert_memory_equal(p.data, expected, sizeof expected);
    assert_int_equal(ll_bundle_find(bundle, "p_1") >= 0, 1);
    ll_bundle_free(bundle);
    /* Whole numbers keep all their digits. */
    CHECK_OK(ctx, lli_bundle_new(&bundle, ctx, "csv"));
    CHECK_OK(ctx, lli_csv_parse(ctx, bundle, (const unsigned char *)"9007199254740993\n", 17, "t"));
    assert_int_equal(bundle->items[0].rank, 1);
    assert_true(*(const int64_t *)bundle->items[0].data == 9007199254740993);
    ll_bundle_free(bundle);
    ll_context_free(ctx);
}

/* A CIFAR file of N records in a file of its own; label byte(s) from the index. */
static const char *cifar_file(const char *name, int64_t N, int labels) {
    const char *path = sample_temporary(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (int64_t i = 0; i < N; i++) {
        if (labels == 2)
            fputc((int)(i % 20), f);
        fputc((int)(i % (labels == 2 ? 100 : 10)), f);
        for (int k = 0; k < 3072; k++)
            fputc((int)((i + k) % 256), f);
    }
    assert_int_equal(fclose(f), 0);
    return path;
}

static ll_array named(const ll_bundle *bundle, const char *name) {
    int64_t i = ll_bundle_find(bundle, name);
    assert_true(i >= 0);
    return ll_bundle_array(bundle, i);
}

static void test_cifar(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (int labels = 1; labels <= 2; labels++) {
        ll_bundle *bundle;
        const char *path = cifar_file("some.bin", 23, labels);
        CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, path));
        assert_string_equal(ll_bundle_format(bundle), "cifar");
        assert_int_equal(ll_bundle_count(bundle), labels + 1);
        ll_array images = named(bundle, "images"), fine = named(bundle, "labels");
        assert_true(images.rank == 4 && images.shape[0] == 23 && images.shape[1] == 3 && images.shape[2] == 32 && images.shape[3] == 32);
        for (int64_t i = 0; i < 23; i++) {
            assert_int_equal(((const uint8_t *)fine.data)[i], i % (labels == 2 ? 100 : 10));
            for (int64_t k = 0; k < 3072; k++)
                if (((const uint8_t *)images.data)[i * 3072 + k] != (i + k) % 256)
                    fail_msg("image %d, byte %d", (int)i, (int)k);
        }
        if (labels == 2)
            assert_int_equal(((const uint8_t *)named(bundle, "coarse_labels").data)[21], 1);
        ll_bundle_free(bundle);
        assert_int_equal(truncate(path, 23 * 3073 - 1), 0);
        CHECK_FAILS(ctx, LL_ERR_FORMAT, "70678 bytes cannot be a CIFAR file; expected a multiple of 3073",
                    ll_bundle_read(&bundle, ctx, path));
        unlink(path);
    }
    /* 3074 records of CIFAR-10 have the length of 3073 records of CIFAR-100: the labels tell. */
    ll_bundle *bundle;
    const char *path = cifar_file("both.bin", 3073, 2);
    CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, path));
    assert_int_equal(ll_bundle_count(bundle), 3);
    ll_bundle_free(bundle);
    path = cifar_file("both.bin", 3074, 1);
    CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, path));
    assert_int_equal(ll_bundle_count(bundle), 2);
    ll_bundle_free(bundle);
    unlink(path);
    unsigned char record[3073] = {10};
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "record 0 has no valid label", parse(ctx, lli_cifar_parse, record, sizeof record));
    ll_context_free(ctx);
}

/* .bin is CIFAR's only as long as the content is no better known format, and a CIFAR image may begin like another format. */
static void test_cifar_by_name(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_bundle *bundle;
    unsigned char record[3073] = {0, 0, 8, 1};
    const char *path = sample_temporary("dark.bin");
    sample_write(path, record, sizeof record);
    CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, path));
    assert_string_equal(ll_bundle_format(bundle), "cifar");
    ll_bundle_free(bundle);
    size_t size;
    unsigned char *bytes = sample_bytes(sample_path("npy/f4.npy"), &size);
    sample_write(path, bytes, size);
    CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, path));
    assert_string_equal(ll_bundle_format(bundle), "npy");
    ll_bundle_free(bundle);
    free(bytes);
    unlink(path);
    ll_context_free(ctx);
}

#ifdef LLI_WITH_PNG
static void test_png(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const uint8_t rgb[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
    static const uint8_t grey[] = {255, 0, 255, 0, 0, 0, 0, 0, 0, 255, 0, 255, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255};
    static const uint8_t colours[] = {1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3};
    static const uint16_t wide[] = {0x0001, 0x0203, 0x0405, 0x0607, 0x0809, 0x0a0b, 0x0c0d, 0x0e0f};
    static const struct {
        const char *path;
        ll_dtype dtype;
        int rank;
        int64_t shape[3];
        const void *values;
    } cases[] = {
        {"png/rgb.png", LL_DTYPE_U8, 3, {2, 4, 3}, rgb},
        {"png/gray1.png", LL_DTYPE_U8, 2, {3, 8}, grey},
        {"png/palette.png", LL_DTYPE_U8, 3, {2, 2, 3}, colours},
        {"png/rgba16.png", LL_DTYPE_U16, 3, {1, 2, 4}, wide},
    };
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        ll_bundle *bundle;
        CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, sample_path(cases[i].path)));
        assert_string_equal(ll_bundle_format(bundle), "png");
        ll_array a = ll_bundle_array(bundle, 0);
        assert_true(a.dtype == cases[i].dtype && a.rank == cases[i].rank);
        for (int k = 0; k < a.rank; k++)
            assert_int_equal(a.shape[k], cases[i].shape[k]);
        assert_memory_equal(a.data, cases[i].values, (size_t)lli_array_count(&a) * ll_dtype_size(a.dtype));
        ll_bundle_free(bundle);
    }
    size_t size;
    unsigned char *bytes = sample_bytes(sample_path("png/rgb.png"), &size);
    lli_bytes_put_big(bytes + 16, 1000000, 4); /* a width that the data cannot fill; its checksum made right */
    lli_bytes_put_big(bytes + 20, 1000000, 4);
    lli_bytes_put_big(bytes + 29, crc32(0, bytes + 12, 17), 4);
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "promises 1000000 x 1000000 pixels", parse(ctx, lli_png_parse, bytes, size));
    free(bytes);
    ll_context_free(ctx);
}
#endif

static int leave(void **state) {
    (void)state;
    return rmdir(sample_temporary(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefixes),      cmocka_unit_test(test_damaged_bytes),        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_cancelled),     cmocka_unit_test(test_npy_headers),          cmocka_unit_test(test_safetensors_headers),
        cmocka_unit_test(test_idx_headers),   cmocka_unit_test(test_gzip_contents),        cmocka_unit_test(test_csv_text),
        cmocka_unit_test(test_cifar),         cmocka_unit_test(test_cifar_by_name),
#ifdef LLI_WITH_PNG
        cmocka_unit_test(test_png),
#endif
        cmocka_unit_test(test_npz_directory), cmocka_unit_test(test_duplicate_names),      cmocka_unit_test(test_numbers_of_csv),
        cmocka_unit_test(test_csv_in_quotes), cmocka_unit_test(test_csv_without_a_column),
    };
    return cmocka_run_group_tests(tests, NULL, leave);
}
