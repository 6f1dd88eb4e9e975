/* SPDX-License-Identifier: MIT */
/* Compressed files by what is in them. A zip is taken apart, one member changed, and put together again with right sums, stored or
 * deflated; a gzip likewise. */
#include <string.h>
#include <zlib.h>

#include "mutate.h"

enum { MEMBERS_MAX = 16, CONTENT_MAX = 8192, NAME_MAX_BYTES = 64 };

typedef struct member {
    uint8_t name[NAME_MAX_BYTES], content[CONTENT_MAX];
    size_t name_size, size;
} member;

static member members[MEMBERS_MAX];

/* The member whose local header is at `at`; returns where the next one begins, 0 if this is none. */
static size_t take_member(member *out, const uint8_t *data, size_t size, size_t at) {
    if (at + 30 > size || memcmp(data + at, "PK\3\4", 4) != 0)
        return 0;
    size_t packed = (size_t)mutate_little(data + at + 18, 4), name = (size_t)mutate_little(data + at + 26, 2),
           extra = (size_t)mutate_little(data + at + 28, 2), method = (size_t)mutate_little(data + at + 8, 2);
    if (packed == 0xffffffff && extra >= 20 && at + 30 + name + 20 <= size) /* zip64: the packed size is the second number */
        packed = (size_t)mutate_little(data + at + 30 + name + 12, 8);
    size_t start = at + 30 + name + extra;
    if (start > size || packed > size - start || name > sizeof out->name)
        return 0;
    memcpy(out->name, data + at + 30, name);
    out->name_size = name;
    if (method == 8)
        out->size = mutate_inflate(out->content, sizeof out->content, data + start, packed, -15);
    else
        memcpy(out->content, data + start, out->size = packed < sizeof out->content ? packed : sizeof out->content);
    return start + packed;
}

/* The fields that the local and the central header share, from "version needed" on: 26 bytes. */
static void put_common(uint8_t *out, const member *m, size_t method, size_t packed) {
    memset(out, 0, 26);
    mutate_put_little(out, 20, 2);
    mutate_put_little(out + 4, method, 2);
    mutate_put_little(out + 10, crc32(0, m->content, (unsigned)m->size), 4);
    mutate_put_little(out + 14, packed, 4);
    mutate_put_little(out + 18, m->size, 4);
    mutate_put_little(out + 22, m->name_size, 2);
}

/* Returns the size of the archive, 0 where it does not fit. `comment`: kept behind the end. */
static size_t put_all(uint8_t *out, size_t most, size_t count, bool deflated, const uint8_t *comment, size_t comment_size) {
    size_t at = 0, starts[MEMBERS_MAX], packed[MEMBERS_MAX];
    for (size_t i = 0; i < count; i++) {
        const member *m = &members[i];
        if (at + 30 + m->name_size + m->size > most)
            return 0;
        starts[i] = at;
        memcpy(out + at, "PK\3\4", 4);
        memcpy(out + at + 30, m->name, m->name_size);
        uint8_t *content = out + at + 30 + m->name_size;
        packed[i] = m->size;
        if (deflated && !(packed[i] = mutate_deflate(content, most - at - 30 - m->name_size, m->content, m->size, -15)))
            return 0;
        if (!deflated)
            memcpy(content, m->content, m->size);
        put_common(out + at + 4, m, deflated ? 8 : 0, packed[i]);
        at += 30 + m->name_size + packed[i];
    }
    size_t directory = at;
    for (size_t i = 0; i < count; i++) {
        const member *m = &members[i];
        if (at + 46 + m->name_size > most)
            return 0;
        memset(out + at, 0, 46);
        memcpy(out + at, "PK\1\2\24", 5);
        put_common(out + at + 6, m, deflated ? 8 : 0, packed[i]);
        mutate_put_little(out + at + 42, starts[i], 4);
        memcpy(out + at + 46, m->name, m->name_size);
        at += 46 + m->name_size;
    }
    if (at + 22 + comment_size > most)
        return 0;
    memset(out + at, 0, 22);
    memcpy(out + at, "PK\5\6", 4);
    mutate_put_little(out + at + 8, count, 2);
    mutate_put_little(out + at + 10, count, 2);
    mutate_put_little(out + at + 12, at - directory, 4);
    mutate_put_little(out + at + 16, directory, 4);
    mutate_put_little(out + at + 20, comment_size, 2);
    if (comment_size)
        memcpy(out + at + 22, comment, comment_size);
    return at + 22 + comment_size;
}

/* What is behind the end record: where the archive keeps its metadata. */
static size_t find_comment(uint8_t out[NAME_MAX_BYTES], const uint8_t *data, size_t size) {
    for (size_t at = size >= 22 ? size - 22 : 0; at > 0; at--)
        if (memcmp(data + at, "PK\5\6", 4) == 0) {
            size_t length = size - at - 22;
            length = length < NAME_MAX_BYTES ? length : NAME_MAX_BYTES;
            memcpy(out, data + at + 22, length);
            return length;
        }
    return 0;
}

size_t mutate_zip(mutation *m, uint8_t *data, size_t size, size_t most) {
    uint8_t comment[NAME_MAX_BYTES];
    size_t count = 0, comment_size = find_comment(comment, data, size);
    for (size_t at = 0; count < MEMBERS_MAX && (at = take_member(&members[count], data, size, at)); count++)
        ;
    if (count == 0)
        return 0;
    member *chosen = &members[mutate_below(m, count)];
    switch (mutate_below(m, 8)) {
    case 0: chosen->name_size = LLVMFuzzerMutate(chosen->name, chosen->name_size, sizeof chosen->name); break;
    case 1: *chosen = members[--count]; break;
    case 2: comment_size = LLVMFuzzerMutate(comment, comment_size, sizeof comment); break;
    case 3:
        if (count < MEMBERS_MAX)
            members[count++] = *chosen;
        break;
    default: chosen->size = LLVMFuzzerMutate(chosen->content, chosen->size, sizeof chosen->content); break;
    }
    return put_all(data, most, count, mutate_below(m, 2), comment, comment_size);
}

size_t mutate_gzip(mutation *m, uint8_t *data, size_t size, size_t most) {
    static uint8_t content[CONTENT_MAX];
    (void)m;
    size_t inside = mutate_inflate(content, sizeof content, data, size, 31);
    return inside ? mutate_deflate(data, most, content, LLVMFuzzerMutate(content, inside, sizeof content), 31) : 0;
}
