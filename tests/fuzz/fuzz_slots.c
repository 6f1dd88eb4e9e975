/* SPDX-License-Identifier: MIT */
/* Any bytes as the work file of a training. The first byte says what is put right first, so that mutations get behind the checks: 1 the
 * head, 2 the hashes. What is restored must be what the file says, and saving must make it whole again. */
#include "base/hash.h"
#include "fuzz.h"
#include "store/slots.h"

/* The layout of src/store/slots.c: a head of 24 + 16 bytes and the identity in 64-byte steps, then twice 128 bytes and the payload. */
enum { PAYLOAD = 24, FIRST = 64, SLOT = 128 + PAYLOAD, WHOLE = FIRST + 2 * SLOT };
static const char identity[] = "fuzz";

static void put_head(unsigned char *file) {
    const int64_t sizes[2] = {sizeof identity - 1, PAYLOAD};
    memset(file, 0, FIRST);
    memcpy(file, "lastlayer-slots-1", 17);
    memcpy(file + 24, sizes, sizeof sizes);
    memcpy(file + 40, identity, sizeof identity - 1);
}

static void put_hash(unsigned char *slot) {
    lli_hash hash;
    lli_hash_init(&hash);
    lli_hash_add(&hash, slot, 8);
    lli_hash_add(&hash, slot + 128, PAYLOAD);
    lli_hash_text(&hash, (char *)slot + 8);
}

static void run(const uint8_t *bytes, size_t size) {
    static unsigned char file[2 * WHOLE];
    if (size < 1 || size > sizeof file)
        return;
    memset(file, 0, sizeof file);
    memcpy(file, bytes + 1, size - 1);
    if (bytes[0] & 1)
        put_head(file);
    for (int i = 0; bytes[0] & 2 && i < 2; i++)
        put_hash(file + FIRST + i * SLOT);
    fuzz_file("net", file, bytes[0] & 3 ? WHOLE : size - 1);

    double a[1] = {0};
    int64_t b[2] = {0};
    lli_slots_piece pieces[] = {{a, sizeof a}, {b, sizeof b}};
    ll_context *ctx = fuzz_context();
    lli_slots *slots;
    bool found = false;
    if (!fuzz_ok(lli_slots_open(&slots, ctx, "net", true)))
        return;
    if (fuzz_ok(lli_slots_begin(ctx, slots, identity, pieces, 2, &found))) {
        if (found && memcmp(a, file + FIRST + 128, 8) != 0 && memcmp(a, file + FIRST + SLOT + 128, 8) != 0)
            abort();
        if (!fuzz_ok(lli_slots_save(ctx, slots, pieces, 2)))
            abort();
    }
    lli_slots_close(slots, true);
}

FUZZ_TARGET(run)
