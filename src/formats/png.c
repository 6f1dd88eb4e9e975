/* SPDX-License-Identifier: MIT */
/* Reader of .png by libpng: one array of the samples as they are stored, [H,W] for grey, [H,W,C] with colour or alpha; u8, or u16 for 16
 * bits. A palette becomes RGB. No gamma, no colour profile. The only file that knows libpng. */
#include "formats/readers.h"

#ifdef LLI_WITH_PNG
#include <inttypes.h>
#include <png.h>
#include <setjmp.h>
#include <string.h>

#include "base/memory.h"

/* What the callbacks of libpng share. */
typedef struct state {
    ll_context *ctx;
    const char *name;
    const unsigned char *bytes;
    size_t left;
    ll_status status;
    unsigned char *pixels;
    png_bytepp rows;
} state;

static void fail(png_structp png, png_const_charp text) {
    state *s = png_get_error_ptr(png);
    if (s->status == LL_OK)
        s->status = lli_fail(s->ctx, LL_ERR_FORMAT, "%s: the PNG is damaged or truncated (%s)", s->name, text);
    png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp text) {
    (void)png, (void)text;
}

static void require(state *s, png_structp png, ll_status status) {
    if (status == LL_OK)
        return;
    s->status = status;
    png_longjmp(png, 1);
}

static void read_bytes(png_structp png, png_bytep out, size_t count) {
    state *s = png_get_io_ptr(png);
    require(s, png, lli_cancel_check(s->ctx));
    if (count > s->left)
        png_error(png, "it ends too early");
    memcpy(out, s->bytes, count);
    s->bytes += count;
    s->left -= count;
}

static void on_row(png_structp png, png_uint_32 row, int pass) {
    (void)row, (void)pass;
    state *s = png_get_io_ptr(png);
    require(s, png, lli_cancel_check(s->ctx));
}

static png_voidp allocate(png_structp png, png_alloc_size_t size) {
    state *s = png_get_mem_ptr(png);
    void *block = NULL;
    if (size <= INT64_MAX && lli_memory_new(s->ctx, &block, (int64_t)size, 1) != LL_OK)
        s->status = LL_ERR_MEMORY; /* the allocator has left its sentence */
    return block;
}

static void release(png_structp png, png_voidp block) {
    (void)png;
    lli_memory_free(block);
}

/* Reads all of it; every failure jumps. */
static void read_image(state *s, png_structp png, png_infop info, ll_array *out) {
    size_t size = s->left;
    png_read_info(png, info);
    int64_t height = png_get_image_height(png, info), width = png_get_image_width(png, info), bytes;
    if (!lli_multiply(&bytes, height, (int64_t)png_get_rowbytes(png, info)) || (uint64_t)bytes / LLI_INFLATE_RATIO > size)
        require(s, png,
                lli_fail(s->ctx, LL_ERR_FORMAT, "%s: the header promises %" PRId64 " x %" PRId64 " pixels, which %zu bytes cannot hold",
                         s->name, width, height, size));
    png_set_expand_gray_1_2_4_to_8(png);
    if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    if (png_get_bit_depth(png, info) == 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        png_set_swap(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    size_t stride = png_get_rowbytes(png, info);
    require(s, png, lli_memory_new(s->ctx, &s->pixels, height, stride));
    require(s, png, lli_memory_new(s->ctx, &s->rows, height, sizeof *s->rows));
    for (int64_t i = 0; i < height; i++)
        s->rows[i] = s->pixels + (size_t)i * stride;
    png_set_read_status_fn(png, on_row);
    png_read_image(png, s->rows);
    png_read_end(png, NULL);
    int64_t channels = png_get_channels(png, info);
    const int64_t shape[] = {height, width, channels};
    *out = ll_array_view(s->pixels, png_get_bit_depth(png, info) == 16 ? LL_DTYPE_U16 : LL_DTYPE_U8, channels > 1 ? 3 : 2, shape);
}

ll_status lli_png_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    state s = {ctx, name, bytes, size, LL_OK, NULL, NULL};
    png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &s, fail, ignore, &s, allocate, release);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    ll_array array = {0};
    if (!info)
        s.status = s.status != LL_OK ? s.status : lli_fail(ctx, LL_ERR_INTERNAL, "%s: libpng cannot start", name);
    else if (!setjmp(png_jmpbuf(png))) {
        png_set_read_fn(png, &s, read_bytes);
        read_image(&s, png, info, &array);
    }
    png_destroy_read_struct(&png, &info, NULL);
    lli_memory_free(s.rows);
    if (s.status != LL_OK) {
        lli_memory_free(s.pixels);
        return s.status;
    }
    return lli_bundle_add(ctx, bundle, "array", array, s.pixels);
}

#else
ll_status lli_png_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    (void)bundle, (void)bytes, (void)size;
    return lli_fail(ctx, LL_ERR_FORMAT, "%s: PNG is not read, because this lastlayer was built without libpng", name);
}
#endif
