/* SPDX-License-Identifier: MIT */
/* Two slots in a file. */
#include "store/slots.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "formats/file.h"
#include "store/partial.h"

#define MAGIC "lastlayer-slots-1"
enum { SLOT_HEAD = 128 };

typedef struct file_head {
    char magic[24];
    int64_t identity, payload; /* bytes */
} file_head;

typedef struct slot_head {
    uint64_t sequence; /* 0 = empty */
    char hash[LLI_HASH_TEXT];
} slot_head;

_Static_assert(sizeof(slot_head) <= SLOT_HEAD, "the header of a slot fits its reserved space");

struct lli_slots {
    lli_outfile *file;
    char *path;
    bool found;             /* an interrupted run is there */
    int64_t first, payload; /* where the slots begin; bytes of one */
    uint64_t sequence;
};

ll_status lli_slots_open(lli_slots **out, ll_context *ctx, const char *path, bool resume) {
    *out = NULL;
    lli_slots *s;
    LLI_TRY(lli_memory_new(ctx, &s, 1, sizeof *s));
    ll_status status;
    LLI_DO(lli_memory_text(ctx, &s->path, path));
    LLI_DO(lli_outfile_open(&s->file, &s->found, ctx, path, ".partial", resume ? LLI_OUTFILE_RESUME : LLI_OUTFILE_NEW));
    *out = s;
    s = NULL;
done:
    lli_slots_close(s, false);
    return status;
}

static int64_t slot_offset(const lli_slots *s, uint64_t sequence) {
    return s->first + (int64_t)(sequence % 2) * (SLOT_HEAD + s->payload);
}

static void hash_slot(char out[LLI_HASH_TEXT], uint64_t sequence, const lli_slots_piece *pieces, int count) {
    lli_hash hash;
    lli_hash_init(&hash);
    lli_hash_add(&hash, &sequence, sizeof sequence);
    for (int i = 0; i < count; i++)
        lli_hash_add(&hash, pieces[i].bytes, pieces[i].count);
    lli_hash_text(&hash, out);
}

/* Has the file, of `have` bytes, been begun as this? A run that was killed before its head was there has not begun at all. */
static ll_status check_same(ll_context *ctx, lli_slots *s, const file_head *head, const char *identity, int64_t have) {
    file_head old = {0};
    char *text = NULL;
    bool begun = have >= (int64_t)sizeof old, same = begun;
    if (begun)
        LLI_TRY(lli_outfile_read_at(ctx, s->file, 0, &old, sizeof old));
    if (!begun || !old.magic[0]) {
        s->found = false;
        return LL_OK;
    }
    same = memcmp(&old, head, sizeof old) == 0 && have == s->first + 2 * (SLOT_HEAD + s->payload);
    if (same) {
        LLI_TRY(lli_memory_new(ctx, &text, head->identity, 1));
        ll_status status = lli_outfile_read_at(ctx, s->file, sizeof old, text, (size_t)head->identity);
        same = status == LL_OK && memcmp(text, identity, (size_t)head->identity) == 0;
        lli_memory_free(text);
        LLI_TRY(status);
    }
    if (same)
        return LL_OK;
    return lli_partial_refuse(ctx, s->path);
}

/* Reads a slot into the pieces. *sequence = 0 if it is not whole. */
static ll_status read_slot(uint64_t *sequence, ll_context *ctx, lli_slots *s, uint64_t parity, const lli_slots_piece *pieces, int count) {
    slot_head head;
    char hash[LLI_HASH_TEXT];
    int64_t at = slot_offset(s, parity);
    LLI_TRY(lli_outfile_read_at(ctx, s->file, at, &head, sizeof head));
    at += SLOT_HEAD;
    for (int i = 0; i < count; i++) {
        LLI_TRY(lli_outfile_read_at(ctx, s->file, at, pieces[i].bytes, pieces[i].count));
        at += (int64_t)pieces[i].count;
    }
    hash_slot(hash, head.sequence, pieces, count);
    *sequence = memcmp(hash, head.hash, sizeof hash) == 0 ? head.sequence : 0;
    return LL_OK;
}

/* The younger of the slots that are whole. */
static ll_status restore(ll_context *ctx, lli_slots *s, const lli_slots_piece *pieces, int count, bool *found) {
    uint64_t sequence[2] = {0, 0};
    LLI_TRY(read_slot(&sequence[0], ctx, s, 0, pieces, count));
    LLI_TRY(read_slot(&sequence[1], ctx, s, 1, pieces, count));
    if (sequence[0] > sequence[1]) /* the pieces hold the other one */
        LLI_TRY(read_slot(&sequence[0], ctx, s, 0, pieces, count));
    s->sequence = LLI_MAX(sequence[0], sequence[1]);
    *found = s->sequence > 0;
    return LL_OK;
}

ll_status lli_slots_begin(ll_context *ctx, lli_slots *s, const char *identity, const lli_slots_piece *pieces, int count, bool *found) {
    file_head head = {.magic = MAGIC, .identity = (int64_t)strlen(identity)};
    for (int i = 0; i < count; i++)
        head.payload += (int64_t)pieces[i].count;
    s->payload = head.payload;
    s->first = ((int64_t)sizeof head + head.identity + 63) / 64 * 64;
    *found = false;
    int64_t have;
    LLI_TRY(lli_outfile_size(&have, ctx, s->file));
    if (s->found)
        LLI_TRY(check_same(ctx, s, &head, identity, have));
    if (s->found)
        return restore(ctx, s, pieces, count, found);
    /* The head last: a file that has it has all its room. */
    LLI_TRY(lli_outfile_truncate(ctx, s->file, s->first + 2 * (SLOT_HEAD + s->payload)));
    LLI_TRY(lli_outfile_write_at(ctx, s->file, sizeof head, identity, (size_t)head.identity));
    return lli_outfile_write_at(ctx, s->file, 0, &head, sizeof head);
}

ll_status lli_slots_save(ll_context *ctx, lli_slots *s, const lli_slots_piece *pieces, int count) {
    slot_head head = {.sequence = s->sequence + 1};
    hash_slot(head.hash, head.sequence, pieces, count);
    int64_t start = slot_offset(s, head.sequence), at = start + SLOT_HEAD;
    for (int i = 0; i < count; i++) {
        LLI_TRY(lli_outfile_write_at(ctx, s->file, at, pieces[i].bytes, pieces[i].count));
        at += (int64_t)pieces[i].count;
    }
    LLI_TRY(lli_outfile_write_at(ctx, s->file, start, &head, sizeof head));
    s->sequence = head.sequence;
    return LL_OK;
}

void lli_slots_close(lli_slots *s, bool keep) {
    if (!s)
        return;
    if (s->file) {
        lli_outfile_keep(s->file, keep && (s->sequence > 0 || s->found));
        lli_outfile_abandon(s->file);
    }
    lli_memory_free(s->path);
    lli_memory_free(s);
}
