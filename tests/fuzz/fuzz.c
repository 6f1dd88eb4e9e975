/* SPDX-License-Identifier: MIT */
/* The context of a fuzz target, and ways to use what a reader accepted. */
#include "fuzz.h"

#include <sanitizer/asan_interface.h>

#include "base/context.h"
#include "base/memory.h"

/* What a long run needs less of: freed blocks that wait, and the stack of every allocation. libFuzzer's own limits catch bombs. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "quarantine_size_mb=4:malloc_context_size=2:allocator_may_return_null=1:detect_stack_use_after_return=0";
}

static volatile double sink; /* keeps the compiler from leaving out what is only read */

static void hear(void *user, ll_log_level level, const char *sentence) {
    (void)user, (void)level;
    fuzz_harmless(sentence, false);
}

ll_context *fuzz_context(void) {
    static ll_context *ctx;
    if (!ctx) {
        ll_context_options options = ll_context_options_default();
        options.threads = 1;
        options.log = hear;
        if (ll_context_new(&ctx, &options) != LL_OK)
            abort();
    }
    return ctx;
}

bool fuzz_ok(ll_status status) {
    ll_context *ctx = fuzz_context();
    if (status != LL_OK && (!ctx->message[0] || status == LL_ERR_INTERNAL))
        abort();
    fuzz_harmless(ctx->message, false);
    ctx->message[0] = 0;
    return status == LL_OK;
}

/* By bytes, without decoding: C0, DEL, C1 (C2 80..9F), U+061C, U+200E and F, U+2028 to 202E, U+2066 to 2069. */
void fuzz_harmless(const char *text, bool lines) {
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        bool control = (*s < 0x20 && !(lines && *s == '\n')) || *s == 0x7f || (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0);
        bool high = s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae));
        bool turn = high || (s[0] == 0xd8 && s[1] == 0x9c) || (s[0] == 0xe2 && s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
        if (control || turn)
            abort();
    }
}

void fuzz_use_text(const char *text) {
    if (text)
        sink += (double)strlen(text);
}

void fuzz_use_array(const ll_array *a) {
    if ((uintptr_t)a->data % ll_dtype_size(a->dtype) != 0)
        abort();
    int64_t count = lli_array_count(a), step = count > 64 ? count / 64 : 1;
    double sum = 0;
    if (__asan_region_is_poisoned((void *)(uintptr_t)a->data, (size_t)count * ll_dtype_size(a->dtype)))
        abort();
    for (int64_t i = 0; i < count; i += step)
        sum += lli_array_real(a, i);
    sink = sum;
}

void fuzz_use_bundle(const ll_bundle *bundle) {
    for (int64_t i = 0; i < ll_bundle_count(bundle); i++) {
        ll_array a = ll_bundle_array(bundle, i);
        fuzz_use_text(ll_bundle_name(bundle, i));
        fuzz_use_array(&a);
    }
    for (int64_t i = 0; i < ll_bundle_meta_count(bundle); i++) {
        fuzz_use_text(ll_bundle_meta_key(bundle, i));
        fuzz_use_text(ll_bundle_meta_value(bundle, i));
    }
}

void fuzz_read(fuzz_reader *reader, const char *format, const uint8_t *bytes, size_t size) {
    ll_bundle *bundle;
    if (!fuzz_ok(lli_bundle_new(&bundle, fuzz_context(), format)))
        abort();
    if (fuzz_ok(reader(fuzz_context(), bundle, bytes, size, "fuzz")))
        fuzz_use_bundle(bundle);
    ll_bundle_free(bundle);
}

bool fuzz_piece(char *out, size_t room, const uint8_t **bytes, size_t *size, char mark) {
    if (*size == 0)
        return false;
    const uint8_t *end = memchr(*bytes, mark, *size);
    size_t length = end ? (size_t)(end - *bytes) : *size, kept = length < room - 1 ? length : room - 1;
    memcpy(out, *bytes, kept);
    out[kept] = 0;
    *bytes += length + (end != NULL);
    *size -= length + (end != NULL);
    return true;
}
