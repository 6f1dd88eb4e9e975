/* SPDX-License-Identifier: MIT */
/* One reader per format, from bytes into a bundle. `name` is what messages call the file. The bytes are borrowed: views of the bundle
 * may point into them. A failure leaves the bundle fit for ll_bundle_free. */
#ifndef LLI_FORMATS_READERS_H
#define LLI_FORMATS_READERS_H

#include "formats/raw.h"

ll_status lli_npy_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;
ll_status lli_npz_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;
ll_status lli_safetensors_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size,
                                const char *name) LL_CHECK_RESULT;
ll_status lli_idx_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;
ll_status lli_idx_gz_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;
ll_status lli_csv_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;
/* The same without one column: then "array" is all there is, and the entry "columns" of the metadata names what is left. Without such a
 * column, or with NULL, it is as above. */
ll_status lli_csv_without(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name,
                          const char *column) LL_CHECK_RESULT;
ll_status lli_cifar_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;
/* In a build without libpng it refuses every file. */
ll_status lli_png_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;
/* Through the program lastlayer-h5; LL_ERR_READ where it is not installed, LL_ERR_MEMORY where the file holds more than it may. */
ll_status lli_hdf5_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;
/* A .keras: the .h5 in it, and `layer_names`, the paths of its layers in the order of the model. */
ll_status lli_keras_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;
/* What that program answers. Whoever wrote the file may have written this too. */
ll_status lli_hdf5_answer(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;

/* An .npz in two steps, because one array of many may be wanted and inflating is dear: first the names, then array `only` (-1 = all). */
ll_status lli_npz_list(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) LL_CHECK_RESULT;
ll_status lli_npz_load(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name,
                       int64_t only) LL_CHECK_RESULT;

/* The header of an .npy: what the array is, and where its elements begin. */
ll_status lli_npy_header(lli_raw *out, size_t *offset, ll_context *ctx, const unsigned char *bytes, size_t size,
                         const char *name) LL_CHECK_RESULT;
/* The whole .npy: its header, and that the elements are exactly the rest. */
ll_status lli_npy_check(lli_raw *out, size_t *offset, ll_context *ctx, const unsigned char *bytes, size_t size,
                        const char *name) LL_CHECK_RESULT;

/* Inflates all of `in` into exactly `out_size` bytes. `bits` as in zlib's inflateInit2: -15 raw deflate, 31 gzip. */
ll_status lli_inflate(ll_context *ctx, void *out, size_t out_size, const unsigned char *in, size_t in_size, int bits,
                      const char *name) LL_CHECK_RESULT;
/* Inflates the first bytes, up to out_size of them. */
ll_status lli_inflate_start(size_t *got, ll_context *ctx, void *out, size_t out_size, const unsigned char *in, size_t in_size, int bits,
                            const char *name) LL_CHECK_RESULT;
/* Deflate cannot shrink by more than this factor, so a header that promises more is wrong. */
enum { LLI_INFLATE_RATIO = 1032 };

#endif
