/* SPDX-License-Identifier: MIT */
/* Readers by name, the committed sample files, and a folder of its own for each test program. */
#ifndef TESTS_FORMATS_SAMPLES_H
#define TESTS_FORMATS_SAMPLES_H

#include <sys/stat.h>

#include "check.h"
#include "formats/readers.h"

typedef ll_status sample_reader(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name);

typedef struct sample {
    const char *path; /* below tests/fuzz/corpus */
    sample_reader *parse;
    bool prefixes_fail; /* no proper prefix of it is a file of the format */
} sample;

static const sample samples[] = {
    {"npy/f4.npy", lli_npy_parse, true},
    {"npy/f8_big_fortran_v2.npy", lli_npy_parse, true},
    {"npy/i2_v3.npy", lli_npy_parse, true},
    {"npy/bool_scalar.npy", lli_npy_parse, true},
    {"npy/f2_empty.npy", lli_npy_parse, true},
    {"npz/stored.npz", lli_npz_parse, true},
    {"npz/deflated.npz", lli_npz_parse, true},
    {"safetensors/two.safetensors", lli_safetensors_parse, true},
    {"safetensors/odd.safetensors", lli_safetensors_parse, true},
    {"idx/u8.idx", lli_idx_parse, true},
    {"idx/f64.idx", lli_idx_parse, true},
    {"idx_gz/u8.idx.gz", lli_idx_gz_parse, true},
    {"cifar/ten.bin", lli_cifar_parse, true},
    {"cifar/hundred.bin", lli_cifar_parse, true},
#ifdef LLI_WITH_PNG
    {"png/rgb.png", lli_png_parse, true},
    {"png/gray1.png", lli_png_parse, true},
    {"png/rgba16.png", lli_png_parse, true},
    {"png/palette.png", lli_png_parse, true},
#endif
    {"csv/integers.csv", lli_csv_parse, false},
    {"csv/named.csv", lli_csv_parse, false},
};

static inline const char *sample_path(const char *name) {
    static char path[4096];
    const char *source = getenv("LASTLAYER_SOURCE");
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s", source ? source : ".", name);
    return path;
}

/* The file in a block of exactly its size, so that a sanitizer sees any read beyond it. */
static inline unsigned char *sample_bytes(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("no file %s", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*size + !*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

static inline void sample_write(const char *path, const void *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* A path in a fresh folder that the program leaves behind empty: remove what you make. */
static inline const char *sample_temporary(const char *name) {
    static char folder[64], path[8][4096];
    static int turn;
    if (!folder[0]) {
        strcpy(folder, "/tmp/lastlayer-test-XXXXXX");
        assert_non_null(mkdtemp(folder));
        assert_int_equal(chmod(folder, 0755), 0);
    }
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof path[turn], "%s%s%s", folder, name[0] ? "/" : "", name);
    return path[turn];
}

#endif
