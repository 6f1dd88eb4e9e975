/* SPDX-License-Identifier: MIT */
/* Images by name, from folders and from files: small files in the formats of the real sets, and Fashion-MNIST where it is installed. */
#include <math.h>
#include <sys/stat.h>
#include <zlib.h>

#include "data/dataset.h"
#include "folder.h"

/* IDX images [n,4,5] whose bytes are (seed + place) % 256. */
static void write_images(const char *name, int n, int seed, bool zipped) {
    unsigned char bytes[16 + 20 * 50] = {0, 0, 8, 3, 0, 0, 0, (unsigned char)n, 0, 0, 0, 4, 0, 0, 0, 5};
    for (int i = 0; i < 20 * n; i++)
        bytes[16 + i] = (unsigned char)(seed + i);
    if (zipped) {
        gzFile file = gzopen(folder_path(name), "wb");
        assert_int_equal(gzwrite(file, bytes, (unsigned)(16 + 20 * n)), 16 + 20 * n);
        assert_int_equal(gzclose(file), Z_OK);
    } else {
        folder_write(name, bytes, (size_t)(16 + 20 * n));
    }
}

/* Labels 0, 1, 2, ... modulo K. */
static void write_labels(const char *name, int n, int K) {
    unsigned char bytes[8 + 50] = {0, 0, 8, 1, 0, 0, 0, (unsigned char)n};
    for (int i = 0; i < n; i++)
        bytes[8 + i] = (unsigned char)(i % K);
    folder_write(name, bytes, (size_t)(8 + n));
}

static void write_idx(void) {
    folder_clear();
    write_images("train-images-idx3-ubyte", 30, 3, false);
    write_labels("train-labels-idx1-ubyte", 30, 6);
    write_images("t10k-images-idx3-ubyte.gz", 12, 7, true);
    write_labels("t10k-labels-idx1-ubyte", 12, 6);
}

static ll_images *read_images(ll_context *ctx, const char *data, const char *classes, const char *out_data) {
    ll_images_options options = ll_images_options_default();
    options.classes = classes;
    options.out_data = out_data;
    ll_images *images;
    CHECK_OK(ctx, ll_images_read(&images, ctx, data, &options));
    return images;
}

static void test_idx_folder(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    write_idx();
    ll_images *images = read_images(ctx, folder_name, "all", NULL);
    const ll_dataset *train = ll_images_dataset(images, LL_IMAGES_TRAIN), *test = ll_images_dataset(images, LL_IMAGES_TEST);
    assert_null(ll_images_dataset(images, LL_IMAGES_OUT));
    assert_true(ll_dataset_rows(train) == 30 && ll_dataset_rows(test) == 12 && ll_dataset_features(train) == 20 &&
                ll_dataset_classes(test) == 6);
    assert_true(train->rows.bytes && train->rows.height == 4 && train->rows.width == 5 && train->rows.channels == 1);
    assert_true(train->rows.shift == 0 && train->rows.scale == (float)(1.0 / 255));
    for (int i = 0; i < 12 * 20; i++)
        assert_int_equal(((const uint8_t *)test->rows.features)[i], (7 + i) % 256);
    for (int i = 0; i < 12; i++)
        assert_int_equal(ll_dataset_labels(test)[i], i % 6);
    int64_t K;
    assert_non_null(ll_images_classes(images, &K));
    assert_int_equal(K, 6);
    ll_images_free(images);
    ll_context_free(ctx);
}

static void test_subsets(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    write_idx();
    static const struct {
        const char *text;
        int64_t count;
        int32_t classes[6];
    } cases[] = {{"first:3", 3, {0, 1, 2}}, {"last:2", 2, {4, 5}}, {"3,1", 2, {3, 1}}, {"5,4,3,2,1,0", 6, {5, 4, 3, 2, 1, 0}}};
    for (size_t c = 0; c < LLI_COUNT(cases); c++) {
        ll_images *images = read_images(ctx, folder_name, cases[c].text, NULL);
        const ll_dataset *part[] = {ll_images_dataset(images, LL_IMAGES_TRAIN), ll_images_dataset(images, LL_IMAGES_TEST)};
        const ll_dataset *out = ll_images_dataset(images, LL_IMAGES_OUT);
        int64_t K, n = cases[c].count;
        assert_memory_equal(ll_images_classes(images, &K), cases[c].classes, (size_t)n * sizeof(int32_t));
        assert_true(K == n && ll_dataset_rows(part[0]) == 5 * n && ll_dataset_rows(part[1]) == 2 * n && ll_dataset_classes(part[0]) == n);
        assert_true(n == 6 ? !out : ll_dataset_rows(out) == 12 - 2 * n && !ll_dataset_labels(out) && ll_dataset_classes(out) == 0);
        for (int p = 0; p < 2; p++)
            for (int64_t row = 0, i = 0; row < (p ? 12 : 30); row++) { /* of the file */
                int64_t place = 0;
                while (place < n && cases[c].classes[place] != row % 6)
                    place++;
                if (place == n)
                    continue;
                assert_int_equal(ll_dataset_labels(part[p])[i], place);
                assert_int_equal(((const uint8_t *)part[p]->rows.features)[20 * i++], ((p ? 7 : 3) + 20 * row) % 256);
            }
        ll_images_free(images);
    }
    ll_images_options options = ll_images_options_default();
    options.classes = "random:3";
    ll_images *a, *b;
    int64_t K;
    CHECK_OK(ctx, ll_images_read(&a, ctx, folder_name, &options));
    CHECK_OK(ctx, ll_images_read(&b, ctx, folder_name, &options));
    assert_memory_equal(ll_images_classes(a, &K), ll_images_classes(b, &K), 3 * sizeof(int32_t));
    ll_images_free(a);
    ll_images_free(b);
    options.classes = "first:9";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "n from 2 to 6", ll_images_read(&a, ctx, folder_name, &options));
    ll_context_free(ctx);
}

/* CIFAR-100 records; the mean and standard deviation of all training pixels, whatever the classes. */
static void write_cifar(const char *name, int n, int seed, int labels) {
    FILE *file = fopen(folder_path(name), "wb");
    assert_non_null(file);
    for (int i = 0; i < n; i++) {
        if (labels == 2)
            fputc(i % 20, file);
        fputc(i % (labels == 2 ? 100 : 10), file);
        for (int k = 0; k < 3072; k++)
            fputc((seed + i * 7 + k / 1024 * 50 + k % 1024 / 9) % 256, file);
    }
    fclose(file);
}

static void test_cifar_folder(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    folder_clear();
    write_cifar("train.bin", 200, 5, 2);
    write_cifar("test.bin", 100, 9, 2);
    ll_images *images = read_images(ctx, folder_name, "first:50", NULL);
    const ll_dataset *train = ll_images_dataset(images, LL_IMAGES_TRAIN);
    assert_true(ll_dataset_rows(train) == 100 && ll_dataset_classes(train) == 50 &&
                ll_dataset_rows(ll_images_dataset(images, LL_IMAGES_OUT)) == 50);
    double sum = 0, square = 0, count = 200 * 3072;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 200; i++)
            for (int k = 0; k < 3072; k++) {
                double x = (5 + i * 7 + k / 1024 * 50 + k % 1024 / 9) % 256;
                sum += pass ? 0 : x;
                square += pass ? (x - sum / count) * (x - sum / count) : 0;
            }
    CHECK_NEAR(train->rows.shift, sum / count, 1e-5);
    CHECK_NEAR(train->rows.scale, 1 / (sqrt(square / count) + 1e-7), 1e-9);
    const uint8_t *bytes = train->rows.features; /* height, width, channels */
    for (int p = 0; p < 1024; p++)
        for (int c = 0; c < 3; c++)
            assert_int_equal(bytes[3072 + p * 3 + c], (5 + 7 + c * 50 + p / 9) % 256);
    ll_images_free(images);
    /* A network's own scale is taken as it is; then a file of test images alone will do, whose labels need not reach the last class. */
    ll_images_options options = ll_images_options_default();
    options.shift = 120;
    options.scale = 0.25;
    options.classes = "0,1,2,98,99";
    write_cifar("some.bin", 40, 1, 2);
    CHECK_OK(ctx, ll_images_read(&images, ctx, folder_path("some.bin"), &options));
    const ll_dataset *test = ll_images_dataset(images, LL_IMAGES_TEST);
    assert_true(!ll_images_dataset(images, LL_IMAGES_TRAIN) && ll_dataset_rows(test) == 3 && ll_dataset_classes(test) == 5 &&
                test->rows.shift == 120);
    ll_images_free(images);
    CHECK_FAILS(ctx, LL_ERR_DATA, "has no training images", ll_images_read(&images, ctx, folder_path("some.bin"), NULL));
    folder_write("train.bin", "short", 5);
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "5 bytes cannot be a CIFAR file", ll_images_read(&images, ctx, folder_name, NULL));
    ll_context_free(ctx);
}

static void test_cifar10_folder(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    folder_clear();
    const char *names[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
    for (int i = 0; i < 6; i++)
        write_cifar(names[i], 10 + i, 30 * i, 1);
    ll_images *images = read_images(ctx, folder_name, "all", NULL);
    const ll_dataset *train = ll_images_dataset(images, LL_IMAGES_TRAIN);
    assert_true(ll_dataset_rows(train) == 10 + 11 + 12 + 13 + 14 && ll_dataset_rows(ll_images_dataset(images, LL_IMAGES_TEST)) == 15);
    assert_int_equal(((const uint8_t *)train->rows.features)[(10 + 11) * 3072], 60); /* the first byte of the third batch */
    ll_images_free(images);
    unlink(folder_path("data_batch_4.bin"));
    CHECK_FAILS(ctx, LL_ERR_READ, "has no data_batch_4.bin", ll_images_read(&images, ctx, folder_name, NULL));
    ll_context_free(ctx);
}

static void test_files(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    folder_clear();
    static uint8_t x[30 * 2 * 2];
    static int64_t y[30];
    for (int i = 0; i < 120; i++)
        x[i] = (uint8_t)i;
    for (int i = 0; i < 30; i++)
        y[i] = i % 3;
    const int64_t twenty[] = {20, 2, 2}, ten[] = {10, 2, 2};
    ll_named_array arrays[] = {{"x_train", ll_array_view(x, LL_DTYPE_U8, 3, twenty)},
                               {"y_train", ll_array_view(y, LL_DTYPE_I64, 1, twenty)},
                               {"x_test", ll_array_view(x + 80, LL_DTYPE_U8, 3, ten)},
                               {"y_test", ll_array_view(y + 20, LL_DTYPE_I64, 1, ten)}};
    CHECK_OK(ctx, ll_bundle_write(ctx, folder_path("four.npz"), arrays, 4, NULL, 0));
    ll_images *images = read_images(ctx, folder_path("four.npz"), "all", NULL);
    assert_true(ll_dataset_rows(ll_images_dataset(images, LL_IMAGES_TRAIN)) == 20 &&
                ll_dataset_rows(ll_images_dataset(images, LL_IMAGES_TEST)) == 10);
    ll_images_free(images);
    char where[4096];
    snprintf(where, sizeof where, "%s:x_test", folder_path("four.npz"));
    images = read_images(ctx, where, NULL, NULL);
    assert_true(!ll_images_dataset(images, LL_IMAGES_TRAIN) && !ll_dataset_labels(ll_images_dataset(images, LL_IMAGES_TEST)));
    ll_images_free(images);
    write_images("alone.idx.gz", 8, 1, true);
    ll_images_options options = ll_images_options_default();
    options.classes = "first:2";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "has no labels", ll_images_read(&images, ctx, folder_path("alone.idx.gz"), &options));
    CHECK_OK(ctx, ll_bundle_write(ctx, folder_path("odd.npz"), arrays + 1, 1, NULL, 0));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "holds no images; expected x_train", ll_images_read(&images, ctx, folder_path("odd.npz"), NULL));
    CHECK_FAILS(ctx, LL_ERR_READ, "nowhere", ll_images_read(&images, ctx, folder_path("nowhere"), NULL));
    options.classes = "all";
    options.scale = NAN;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "are invalid", ll_images_read(&images, ctx, folder_path("four.npz"), &options));
    ll_context_free(ctx);
}

static void test_out_data(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    write_idx();
    write_images("letters.idx.gz", 8, 99, true);
    ll_images *images = read_images(ctx, folder_name, "first:4", folder_path("letters.idx.gz"));
    const ll_dataset *out = ll_images_dataset(images, LL_IMAGES_OUT);
    assert_true(ll_dataset_rows(out) == 8 && !ll_dataset_labels(out) && out->rows.scale == (float)(1.0 / 255));
    assert_int_equal(((const uint8_t *)out->rows.features)[1], 100);
    ll_images_free(images);
    images = read_images(ctx, folder_name, "all", folder_name); /* the test part of a whole set */
    out = ll_images_dataset(images, LL_IMAGES_OUT);
    assert_true(ll_dataset_rows(out) == 12 && !ll_dataset_labels(out));
    ll_images_free(images);
    ll_images_options options = ll_images_options_default();
    options.out_data = folder_path("small.npy");
    static const uint8_t small[2 * 3 * 5];
    ll_named_array array = {"array", ll_array_view(small, LL_DTYPE_U8, 3, (const int64_t[]){2, 3, 5})};
    CHECK_OK(ctx, ll_bundle_write(ctx, options.out_data, &array, 1, NULL, 0));
    CHECK_FAILS(ctx, LL_ERR_DATA, "small.npy: the images are 3 x 5 x 1 (height, width, channels) but",
                ll_images_read(&images, ctx, folder_name, &options));
    ll_context_free(ctx);
}

/* What is missing or damaged says so, and names the command that fetches it. */
static void test_missing(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_images *images;
    folder_clear();
    assert_int_equal(setenv("LASTLAYER_DATA", folder_name, 1), 0);
    CHECK_FAILS(ctx, LL_ERR_READ, "tools/get-data mnist", ll_images_read(&images, ctx, "mnist", NULL));
    CHECK_FAILS(ctx, LL_ERR_READ, "the data set cifar10 is missing", ll_images_read(&images, ctx, "cifar10", NULL));
    CHECK_FAILS(ctx, LL_ERR_READ, "put train.bin and test.bin", ll_images_read(&images, ctx, "cifar100", NULL));
    CHECK_FAILS(ctx, LL_ERR_READ, "holds no known image files", ll_images_read(&images, ctx, folder_name, NULL));
    assert_int_equal(mkdir(folder_path("mnist"), 0755), 0);
    CHECK_FAILS(ctx, LL_ERR_READ, "mnist: has no train-images-idx3-ubyte; tools/get-data mnist fetches it",
                ll_images_read(&images, ctx, "mnist", NULL));
    folder_write("mnist/train-images-idx3-ubyte.gz", "garbage, not gzip", 17);
    folder_write("mnist/train-labels-idx1-ubyte", "garbage", 7);
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "train-images-idx3-ubyte.gz", ll_images_read(&images, ctx, "mnist", NULL));
    folder_write("mnist/train-images-idx3-ubyte.gz", "\x1f\x8b\x08 no stream", 13);
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "the compressed data are damaged", ll_images_read(&images, ctx, "mnist", NULL));
    unlink(folder_path("mnist/train-images-idx3-ubyte.gz"));
    unlink(folder_path("mnist/train-labels-idx1-ubyte"));
    rmdir(folder_path("mnist"));
    unsetenv("LASTLAYER_DATA");
    ll_context_free(ctx);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    write_idx();
    ll_images_options options = ll_images_options_default();
    options.classes = "first:4";
    options.out_data = folder_name;
    ll_images *images;
    int64_t before = lli_memory_count(ctx), failures = 0;
    CHECK_OK(ctx, ll_images_read(&images, ctx, folder_name, &options));
    ll_images_free(images);
    int64_t count = lli_memory_count(ctx) - before;
    for (int64_t n = 1; n <= count; n++) {
        lli_memory_fail_at(ctx, n);
        ll_status status = ll_images_read(&images, ctx, folder_name, &options);
        lli_memory_fail_at(ctx, 0);
        assert_true(status == LL_ERR_MEMORY || status == LL_OK); /* zlib does without its window where it can */
        failures += status == LL_ERR_MEMORY;
        assert_true((status == LL_OK) == (images != NULL));
        ll_images_free(images);
    }
    assert_true(count > 50 && failures > count - 10);
    ll_context_free(ctx);
}

static void test_fashion(void **state) {
    (void)state;
    if (access("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz", R_OK) != 0)
        skip();
    ll_context *ctx = check_context(1);
    folder_clear();
    assert_int_equal(setenv("LASTLAYER_DATA", folder_name, 1), 0); /* not there, so the package's */
    ll_images *images = read_images(ctx, "fashion", "last:5", NULL);
    const ll_dataset *train = ll_images_dataset(images, LL_IMAGES_TRAIN);
    assert_true(ll_dataset_rows(train) == 30000 && ll_dataset_features(train) == 784 && ll_dataset_classes(train) == 5);
    assert_true(ll_dataset_rows(ll_images_dataset(images, LL_IMAGES_TEST)) == 5000 &&
                ll_dataset_rows(ll_images_dataset(images, LL_IMAGES_OUT)) == 5000);
    ll_images_free(images);
    unsetenv("LASTLAYER_DATA");
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idx_folder),     cmocka_unit_test(test_subsets),         cmocka_unit_test(test_cifar_folder),
        cmocka_unit_test(test_cifar10_folder), cmocka_unit_test(test_files),           cmocka_unit_test(test_out_data),
        cmocka_unit_test(test_missing),        cmocka_unit_test(test_memory_runs_out), cmocka_unit_test(test_fashion),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
