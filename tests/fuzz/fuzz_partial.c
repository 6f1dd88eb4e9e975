/* SPDX-License-Identifier: MIT */
/* Any bytes as the work file of a fit: two heads of two classes and three features. The first byte says what is put right first, so that
 * mutations get behind the checks: 1 the header, 2 the fingerprints of members and the hashes of checkpoints. */
#include "base/hash.h"
#include "base/text.h"
#include "formats/safetensors.h"
#include "fuzz.h"
#include "store/partial.h"

enum { S = 2, K = 2, D = 3, TASKS = 2, FLOATS = 8, HEAD = 128, SLOT = HEAD + 4 * FLOATS, ROOM = 4096 };

static double weight[S] = {1, 1};
static ll_meta pairs[] = {{"format", LLI_ENSEMBLE_FORMAT}, {"method", "sgd"}};
static lli_model model = {
    .D = D, .K = K, .features = D, .tensors = 2, .tensor = {{"W", 2, {K, D}, K *D, LLI_ROLE_KERNEL}, {"b", 1, {K}, K, LLI_ROLE_BIAS}}};
static const lli_ensemble_plan plan = {
    .method = "sgd", .model = &model, .S = S, .K = K, .D = D, .stored = S, .weight = weight, .provenance = {.pairs = pairs, .count = 2}};

/* Where things lie in the file: src/store/partial.h */
typedef struct layout {
    int64_t offsets[LLI_ENSEMBLE_ARRAYS_MAX], end, slots, size;
    lli_text header;
} layout;

static const layout *lay_out(void) {
    static layout l;
    ll_named_array arrays[LLI_ENSEMBLE_ARRAYS_MAX];
    if (l.size)
        return &l;
    int64_t count = lli_ensemble_arrays(arrays, &plan);
    lli_text_init(&l.header, fuzz_context());
    if (!fuzz_ok(lli_safetensors_header(&l.header, l.offsets, &l.end, fuzz_context(), arrays, count, pairs, 2)))
        abort();
    l.slots = (l.end + 63) / 64 * 64;
    l.size = l.slots + 2 * TASKS * SLOT;
    if (l.size > ROOM)
        abort();
    return &l;
}

static void put_hashes(unsigned char *file, const layout *l) {
    lli_hash hash;
    for (int64_t s = 0; s < S; s++) {
        float W[K * D], b[K];
        lli_fingerprint made;
        memcpy(W, file + l->offsets[0] + s * (int64_t)sizeof W, sizeof W);
        memcpy(b, file + l->offsets[1] + s * (int64_t)sizeof b, sizeof b);
        lli_fingerprint_take(&made, &model, (const float *[]){W, b}, 0);
        memcpy(file + l->offsets[2] + s * (int64_t)sizeof made, &made, sizeof made);
    }
    for (int64_t i = 0; i < 2 * TASKS; i++) {
        unsigned char *slot = file + l->slots + i * SLOT;
        lli_hash_init(&hash);
        lli_hash_add(&hash, slot, 8 + sizeof(lli_checkpoint));
        lli_hash_add(&hash, slot + HEAD, 4 * FLOATS);
        lli_hash_text(&hash, (char *)slot + 8 + sizeof(lli_checkpoint));
    }
}

/* Goes on with what the file holds, as a fit does. */
static void resume(ll_context *ctx, lli_partial *partial) {
    lli_store *store = lli_partial_store(partial);
    lli_checkpoint state;
    float theta[FLOATS] = {0}, W[K * D] = {0}, b[K] = {0};
    const float *tensors[] = {W, b};
    bool found;
    for (int64_t task = 0; task < TASKS; task++)
        (void)fuzz_ok(store->ops->restore(store, ctx, task, &state, theta, &(lli_window){1, FLOATS, 0, FLOATS}, &found));
    for (int64_t s = 0; s < S; s++)
        if (!lli_store_has(store, s) && !fuzz_ok(store->ops->save(store, ctx, s, tensors)))
            abort();
}

static void run(const uint8_t *bytes, size_t size) {
    static unsigned char file[ROOM];
    const layout *l = lay_out();
    ll_context *ctx = fuzz_context();
    if (size < 1 || size > sizeof file)
        return;
    memset(file, 0, sizeof file);
    memcpy(file, bytes + 1, size - 1);
    if (bytes[0] & 1)
        memcpy(file, l->header.data, (size_t)l->header.length);
    if (bytes[0] & 2)
        put_hashes(file, l);
    fuzz_file("e", file, bytes[0] & 3 ? (size_t)(bytes[0] & 4 ? l->end : l->size) : size - 1);
    lli_partial *partial;
    if (!fuzz_ok(lli_partial_open(&partial, ctx, "e", LLI_OUTFILE_RESUME)))
        return;
    if (!fuzz_ok(lli_partial_begin(ctx, partial, &plan, FLOATS, TASKS))) {
        lli_partial_abandon(ctx, partial, LL_ERR_USAGE);
        return;
    }
    if (!lli_partial_complete(partial))
        resume(ctx, partial);
    size_t written;
    ll_ensemble *ensemble;
    if (!fuzz_ok(lli_partial_commit(ctx, partial)))
        abort();
    const unsigned char *made = fuzz_file_written(&written);
    fuzz_file("made", made, written);
    (void)fuzz_ok(ll_ensemble_read(&ensemble, ctx, "made")); /* a member of the file may hold what is not finite */
    ll_ensemble_free(ensemble);
}

FUZZ_TARGET(run)
