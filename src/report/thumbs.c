/* SPDX-License-Identifier: MIT */
/* Thumbnails as PNG inside the page. The pixels are stored, not compressed: small pictures gain little, and a reader is easy to satisfy. */
#include "report/thumbs.h"

#include <inttypes.h>

#include "base/memory.h"
#include "report/html.h"

enum { PNG_FRAME = 120 }; /* bytes of a PNG beside its rows, rounded up */

ll_status lli_thumbs_init(lli_thumbs *t, ll_context *ctx, const lli_page *page) {
    *t = (lli_thumbs){.images = page->images};
    for (int64_t m = 0; m < page->count && !t->image; m++)
        t->image = page->methods[m].row;
    if (!t->images.data)
        return LL_OK;
    int64_t H = t->images.shape[1], W = t->images.shape[2];
    t->channels = t->images.rank == 4 ? 3 : 1;
    t->shrink = (LLI_MAX(H, W) + LLI_THUMB_SIDE - 1) / LLI_THUMB_SIDE;
    t->width = LLI_MAX(1, W / t->shrink);
    t->height = LLI_MAX(1, H / t->shrink);
    int64_t bytes = (t->height * (t->width * t->channels + 1) + PNG_FRAME) * 4 / 3 + 60;
    t->capacity = LLI_THUMBS_BYTES / bytes;
    return lli_memory_new(ctx, &t->row, t->capacity, sizeof *t->row);
}

void lli_thumbs_release(lli_thumbs *t) {
    lli_memory_free(t->row);
    *t = (lli_thumbs){0};
}

int64_t lli_thumbs_want(lli_thumbs *t, int64_t row) {
    if (!t->images.data || row < 0 || row >= t->images.shape[0])
        return -1;
    for (int64_t i = 0; i < t->count; i++)
        if (t->row[i] == row)
            return i;
    if (t->count == t->capacity)
        return -1;
    t->row[t->count] = row;
    return t->count++;
}

/* CRC-32 of PNG and Adler-32 of zlib, bit by bit and byte by byte: the pictures are small. */
static uint32_t crc(uint32_t sum, const unsigned char *b, int64_t count) {
    sum = ~sum;
    for (int64_t i = 0; i < count; i++) {
        sum ^= b[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
}

static uint32_t adler(const unsigned char *b, int64_t count) {
    uint32_t a = 1, s = 0;
    for (int64_t i = 0; i < count; i++) {
        a = (a + b[i]) % 65521;
        s = (s + a) % 65521;
    }
    return s << 16 | a;
}

static void put32(lli_text *out, uint32_t x) {
    const unsigned char four[4] = {(unsigned char)(x >> 24), (unsigned char)(x >> 16), (unsigned char)(x >> 8), (unsigned char)x};
    lli_text_append(out, (const char *)four, 4);
}

static void chunk(lli_text *png, const char *type, const void *bytes, int64_t count) {
    put32(png, (uint32_t)count);
    int64_t start = png->length;
    lli_text_append(png, type, 4);
    lli_text_append(png, bytes, count);
    if (png->status == LL_OK)
        put32(png, crc(0, (const unsigned char *)png->data + start, png->length - start));
}

/* The rows of a PNG: each starts with filter 0. A pixel is the mean of the square it stands for. */
static void pixels(lli_text *rows, const lli_thumbs *t, int64_t row) {
    int64_t H = t->images.shape[1], W = t->images.shape[2], C = t->channels, q = t->shrink;
    const unsigned char *image = (const unsigned char *)t->images.data + (t->image ? t->image[row] : row) * H * W * C;
    for (int64_t y = 0; y < t->height; y++) {
        lli_text_append(rows, "\0", 1);
        for (int64_t x = 0; x < t->width; x++)
            for (int64_t c = 0; c < C; c++) {
                int64_t sum = 0, count = 0;
                for (int64_t v = y * q; v < LLI_MIN((y + 1) * q, H); v++)
                    for (int64_t u = x * q; u < LLI_MIN((x + 1) * q, W); u++, count++)
                        sum += image[(v * W + u) * C + c];
                const unsigned char mean = (unsigned char)(count ? (sum + count / 2) / count : 0);
                lli_text_append(rows, (const char *)&mean, 1);
            }
    }
}

static void png_of(lli_text *png, lli_text *rows, lli_text *packed, const lli_thumbs *t, int64_t row) {
    rows->length = packed->length = png->length = 0;
    pixels(rows, t, row);
    if (rows->status != LL_OK)
        return;
    uint16_t size = (uint16_t)rows->length; /* at most 32 (3 32 + 1) bytes: one stored block */
    const unsigned char head[7] = {
        0x78, 1, 1, (unsigned char)size, (unsigned char)(size >> 8), (unsigned char)~size, (unsigned char)(~size >> 8)};
    lli_text_append(packed, (const char *)head, 7);
    lli_text_append(packed, rows->data, rows->length);
    put32(packed, adler((const unsigned char *)rows->data, rows->length));
    const unsigned char shape[13] = {0, 0, 0, (unsigned char)t->width, 0, 0, 0, (unsigned char)t->height, 8, t->channels == 3 ? 2 : 0,
                                     0, 0, 0};
    lli_text_append(png, "\x89PNG\r\n\x1a\n", 8);
    chunk(png, "IHDR", shape, sizeof shape);
    if (packed->status == LL_OK)
        chunk(png, "IDAT", packed->data, packed->length);
    chunk(png, "IEND", "", 0);
}

ll_status lli_thumbs_write(lli_text *out, const lli_thumbs *t) {
    if (!t->count)
        return LL_OK;
    lli_text png, rows, packed;
    lli_text_init(&png, out->ctx);
    lli_text_init(&rows, out->ctx);
    lli_text_init(&packed, out->ctx);
    lli_text_add(out, "<svg class=\"thumbs\" aria-hidden=\"true\" width=\"0\" height=\"0\"><defs>\n");
    for (int64_t i = 0; i < t->count; i++) {
        png_of(&png, &rows, &packed, t, t->row[i]);
        lli_text_add(out, "<image id=\"t%" PRId64 "\" width=\"%" PRId64 "\" height=\"%" PRId64 "\" href=\"data:image/png;base64,", i,
                     t->width, t->height);
        lli_html_base64(out, png.data, png.length);
        lli_text_add(out, "\"/>\n");
    }
    lli_text_add(out, "</defs></svg>\n");
    ll_status status = png.status != LL_OK ? png.status : rows.status != LL_OK ? rows.status : packed.status;
    lli_text_release(&png);
    lli_text_release(&rows);
    lli_text_release(&packed);
    return status;
}

void lli_thumbs_show(lli_text *out, const lli_thumbs *t, int64_t thumb) {
    lli_text_add(out,
                 "<svg class=\"thumb\" viewBox=\"0 0 %" PRId64 " %" PRId64 "\" aria-hidden=\"true\"><use href=\"#t%" PRId64 "\"/></svg>",
                 t->width, t->height, thumb);
}
