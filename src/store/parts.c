/* SPDX-License-Identifier: MIT */
/* Finds the parts of an output and holds them against each other. */
#include "store/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "formats/file.h"

ll_status lli_parts_take(lli_share *out, ll_context *ctx, int64_t part, int64_t parts) {
    if (parts < 1 || parts > LLI_SHARE_MAX || part < 1 || part > parts)
        return lli_fail(ctx, LL_ERR_USAGE, "`part` is %" PRId64 "/%" PRId64 "; expected I/N: part I, from 1 to N, of at most %d parts",
                        part, parts, LLI_SHARE_MAX);
    *out = (lli_share){part - 1, parts};
    return LL_OK;
}

ll_status lli_parts_path(char **out, ll_context *ctx, const char *path, const lli_share *part) {
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_add(&text, "%s.part-%" PRId64 "-of-%" PRId64, path, part->index + 1, part->count);
    return lli_text_take(&text, out);
}

ll_status lli_parts_describe(ll_context *ctx, lli_provenance *out, const lli_provenance *whole, const lli_share *part, const char *kind) {
    lli_text number;
    for (int64_t i = 0; i < whole->count; i++)
        LLI_TRY(lli_provenance_add(ctx, out, whole->pairs[i].key, whole->pairs[i].value));
    LLI_TRY(lli_provenance_add(ctx, out, LLI_PARTS_KIND, kind));
    lli_text_init(&number, ctx);
    lli_text_add(&number, "%" PRId64 "/%" PRId64, part->index + 1, part->count);
    return lli_provenance_add_text(ctx, out, LLI_PARTS_NUMBER, &number);
}

/* ---- which are there ---- */

/* I and N of PATH.part-I-of-N; false for other files, such as the work file of a part. */
static bool read_name(lli_share *out, const char *name, size_t length) {
    static const char before[] = ".part-", between[] = "-of-";
    const char *p = name + length;
    char *end;
    if (strncmp(p, before, sizeof before - 1) != 0)
        return false;
    out->index = strtoll(p + sizeof before - 1, &end, 10) - 1;
    if (strncmp(end, between, sizeof between - 1) != 0)
        return false;
    out->count = strtoll(end + sizeof between - 1, &end, 10);
    return !*end && out->count >= 1 && out->count <= LLI_SHARE_MAX && out->index >= 0 && out->index < out->count;
}

/* A pattern for the parts: what glob would take for its own in the path is escaped. */
static ll_status find_files(ll_files **out, ll_context *ctx, const char *path) {
    lli_text pattern;
    lli_text_init(&pattern, ctx);
    for (const char *p = path; *p; p++)
        lli_text_add(&pattern, strchr("*?[]\\", *p) ? "\\%c" : "%c", *p);
    lli_text_add(&pattern, ".part-*-of-*");
    ll_status status = pattern.status;
    if (status == LL_OK)
        status = ll_files_find(out, ctx, pattern.data);
    if (status == LL_ERR_READ)
        status = lli_fail(ctx, LL_ERR_READ, "%s has no parts: there is no %s.part-I-of-N; make them with `part I/N`", path, path);
    lli_text_release(&pattern);
    return status;
}

/* "parts 3, 5, 6 and 2 more of 8 are missing" */
static ll_status fail_missing(ll_context *ctx, const char *path, const lli_parts *parts, int64_t missing) {
    enum { SHOWN = 10 };
    lli_text list;
    int64_t shown = 0;
    char *work = NULL;
    bool begun = false;
    ll_status status;
    lli_text_init(&list, ctx);
    for (int64_t i = 0; i < parts->count; i++) {
        if (parts->path[i])
            continue;
        if (shown++ < SHOWN)
            lli_text_add(&list, "%s%" PRId64, shown > 1 ? ", " : "", i + 1);
        lli_text name;
        lli_text_init(&name, ctx);
        lli_text_add(&name, "%s.part-%" PRId64 "-of-%" PRId64 ".partial", path, i + 1, parts->count);
        LLI_DO(lli_text_take(&name, &work));
        begun = begun || lli_file_exists(work);
        lli_memory_free(work);
    }
    if (shown > SHOWN)
        lli_text_add(&list, " and %" PRId64 " more", shown - SHOWN);
    LLI_DO(list.status);
    const char *format = begun ? "%s: part%s %s of %" PRId64 " %s missing; run %s, with `resume` where it was begun, then merge again"
                               : "%s: part%s %s of %" PRId64 " %s missing; run %s, then merge again";
    bool many = missing > 1;
    status = lli_fail(ctx, LL_ERR_READ, format, path, many ? "s" : "", list.data, parts->count, many ? "are" : "is", many ? "them" : "it");
done:
    lli_text_release(&list);
    return status;
}

static ll_status take_files(lli_parts *out, ll_context *ctx, const char *path, const ll_files *files) {
    size_t length = strlen(path);
    int64_t found = 0;
    for (int64_t i = 0; i < ll_files_count(files); i++) {
        lli_share part;
        if (!read_name(&part, ll_files_at(files, i), length))
            continue;
        if (!out->path) {
            LLI_TRY(lli_memory_new(ctx, &out->path, part.count, sizeof *out->path));
            out->count = part.count;
        }
        if (part.count != out->count)
            return lli_fail(ctx, LL_ERR_USAGE, "%s has parts out of %" PRId64 " and parts out of %" PRId64 "; remove those of one kind",
                            path, out->count, part.count);
        if (out->path[part.index])
            return lli_fail(ctx, LL_ERR_USAGE, "%s and %s are the same part; remove one of them", out->path[part.index],
                            ll_files_at(files, i));
        LLI_TRY(lli_memory_text(ctx, &out->path[part.index], ll_files_at(files, i)));
        found++;
    }
    if (!out->path)
        return lli_fail(ctx, LL_ERR_READ, "%s has no parts: there is no %s.part-I-of-N; make them with `part I/N`", path, path);
    return found == out->count ? LL_OK : fail_missing(ctx, path, out, out->count - found);
}

ll_status lli_parts_find(lli_parts *out, ll_context *ctx, const char *path) {
    *out = (lli_parts){NULL, 0};
    ll_files *files = NULL;
    LLI_TRY(find_files(&files, ctx, path));
    ll_status status = take_files(out, ctx, path, files);
    ll_files_free(files);
    if (status != LL_OK)
        lli_parts_release(out);
    return status;
}

ll_status lli_parts_left(lli_parts *out, ll_context *ctx, const char *ranks) {
    *out = (lli_parts){NULL, 0};
    ll_files *files = NULL;
    lli_share part;
    ll_status status = find_files(&files, ctx, ranks);
    if (status == LL_ERR_READ)
        return LL_OK;
    LLI_DO(status);
    LLI_DO(lli_memory_new(ctx, &out->path, ll_files_count(files), sizeof *out->path));
    for (int64_t i = 0; i < ll_files_count(files); i++)
        if (read_name(&part, ll_files_at(files, i), strlen(ranks)))
            LLI_DO(lli_memory_text(ctx, &out->path[out->count++], ll_files_at(files, i)));
done:
    ll_files_free(files);
    if (status != LL_OK)
        lli_parts_release(out);
    return status;
}

void lli_parts_release(lli_parts *parts) {
    for (int64_t i = 0; parts->path && i < parts->count; i++)
        lli_memory_free(parts->path[i]);
    lli_memory_free(parts->path);
    *parts = (lli_parts){NULL, 0};
}

/* ---- what they hold ---- */

int64_t lli_parts_number(const ll_bundle *bundle, const char *key) {
    const char *text = lli_bundle_meta(bundle, key);
    char *end;
    if (!text || *text < '0' || *text > '9')
        return -1;
    long long value = strtoll(text, &end, 10);
    return *end ? -1 : value;
}

static ll_status check_part(ll_context *ctx, const lli_parts *parts, int64_t index, const ll_bundle *bundle) {
    const char *number = lli_bundle_meta(bundle, LLI_PARTS_NUMBER);
    lli_text expected;
    lli_text_init(&expected, ctx);
    lli_text_add(&expected, "%" PRId64 "/%" PRId64, index + 1, parts->count);
    ll_status status = expected.status;
    if (status == LL_OK && (!number || strcmp(number, expected.data) != 0))
        status = lli_fail(ctx, LL_ERR_DATA, "%s is %s%s; expected part %s", parts->path[index], number ? "part " : "no part of an output",
                          number ? number : "", expected.data);
    lli_text_release(&expected);
    return status;
}

/* The same entries with the same values, but for the number; the same arrays, but for their rows. */
static ll_status check_same(ll_context *ctx, const char *path, const ll_bundle *one, const char *other_path, const ll_bundle *other) {
    for (int64_t i = 0; i < one->meta_count || i < other->meta_count; i++) {
        const char *key = i < one->meta_count ? one->meta[i].key : other->meta[i].key;
        const char *a = lli_bundle_meta(one, key), *b = lli_bundle_meta(other, key);
        if (strcmp(key, LLI_PARTS_NUMBER) != 0 && (!a || !b || strcmp(a, b) != 0))
            return lli_fail(ctx, LL_ERR_DATA, "%s and %s are parts of different outputs: %s is %.80s in one and %.80s in the other", path,
                            other_path, key, a ? a : "missing", b ? b : "missing");
    }
    bool same = one->count == other->count;
    for (int64_t i = 0; same && i < one->count; i++) {
        const lli_bundle_item *a = &one->items[i], *b = &other->items[i];
        same = strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->rank == b->rank && a->rank > 0;
        for (int axis = 1; same && axis < a->rank; axis++)
            same = a->shape[axis] == b->shape[axis];
    }
    return same ? LL_OK : lli_fail(ctx, LL_ERR_DATA, "%s and %s are parts of different outputs: their arrays differ", path, other_path);
}

ll_status lli_parts_open(ll_bundle ***out, ll_context *ctx, const lli_parts *parts) {
    ll_bundle **bundles;
    ll_status status;
    *out = NULL;
    LLI_TRY(lli_memory_new(ctx, &bundles, parts->count, sizeof(ll_bundle *)));
    for (int64_t i = 0; i < parts->count; i++) {
        LLI_DO(ll_bundle_read(&bundles[i], ctx, parts->path[i]));
        LLI_DO(check_part(ctx, parts, i, bundles[i]));
        LLI_DO(check_same(ctx, parts->path[0], bundles[0], parts->path[i], bundles[i]));
    }
    *out = bundles;
    bundles = NULL;
done:
    if (bundles)
        lli_parts_close(bundles, parts->count);
    return status;
}

void lli_parts_close(ll_bundle **bundles, int64_t count) {
    for (int64_t i = 0; bundles && i < count; i++)
        ll_bundle_free(bundles[i]);
    lli_memory_free(bundles);
}
