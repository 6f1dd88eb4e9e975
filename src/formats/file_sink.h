/* SPDX-License-Identifier: MIT */
/* What the sinks share: a file whose layout is known when it is opened, so that rows go straight to their place. */
#ifndef LLI_FORMATS_FILE_SINK_H
#define LLI_FORMATS_FILE_SINK_H

#include "base/sink.h"
#include "formats/file.h"
#include "formats/format.h"

struct lli_sink_place {
    int64_t header;   /* npz: where its local header begins */
    int64_t offset;   /* where its elements begin */
    uint32_t crc;     /* npz: of header and elements so far */
    char *pending;    /* csv: rows that wait for the other arrays */
    int64_t capacity; /* csv: in rows */
};

typedef struct lli_sink_file lli_sink_file;
struct lli_sink_file {
    lli_sink base;
    lli_outfile *file;
    lli_sink_place *places; /* one per array */
    bool big;               /* byte order of the format */
    bool checksums;
    char *comment; /* npz: the metadata */
    unsigned char *scratch;
    int64_t emitted; /* csv: rows in the file */
    int64_t behind;  /* csv: arrays that have no other rows yet */
    int64_t end;     /* csv: bytes in the file */
    ll_status (*write)(lli_sink_file *sink, ll_context *ctx, lli_sink_array *a, int64_t first_row, int64_t rows, const void *data);
    ll_status (*finish)(lli_sink_file *sink, ll_context *ctx); /* after the last row; NULL if nothing is left to do */
};

enum { LLI_SINK_SCRATCH = 1 << 16 };

/* The layouts: write what precedes the rows and set the offsets. */
typedef ll_status lli_sink_layout(lli_sink_file *sink, ll_context *ctx, const ll_meta *meta, int64_t meta_count);
lli_sink_layout lli_sink_npy, lli_sink_npz, lli_sink_safetensors, lli_sink_idx, lli_sink_csv, lli_sink_cifar;

enum { LLI_NPY_HEADER_MAX = 512 };
ll_status lli_npy_sink_writable(ll_context *ctx, const char *path, const lli_sink_array *a) LL_CHECK_RESULT; /* numpy has its type */
/* The header of an .npy into `out`; returns its length, a multiple of 64. */
size_t lli_npy_sink_header_text(unsigned char out[LLI_NPY_HEADER_MAX], const ll_array *spec);

#endif
