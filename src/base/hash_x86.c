/* SPDX-License-Identifier: MIT */
/* SHA-256 with the instructions that x86 processors have for it: six times as fast as plain C. Elsewhere there are none. */
#include "base/hash.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

bool lli_hash_x86(void) {
    static _Atomic int known; /* asking is slow on virtual machines */
    enum { NO = 1, YES };
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (!answer) {
        unsigned a, b, c, d;
        answer = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA && __builtin_cpu_supports("sse4.1") ? YES : NO;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == YES;
}

/* Two rounds take a, b, e, f in one register and c, d, g, h in another, from the highest lane down. The words of the message come in
 * quads, and quad i + 4 replaces quad i once that is used. */
__attribute__((target("sha,sse4.1"))) void lli_hash_compress_x86(uint32_t state[8], const unsigned char *blocks, size_t count) {
    const __m128i order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3); /* words are big-endian */
    const __m128i dcba = _mm_loadu_si128((const __m128i_u *)state), hgfe = _mm_loadu_si128((const __m128i_u *)(state + 4));
    const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; count > 0; count--, blocks += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i quad[4];
        for (int i = 0; i < 4; i++)
            quad[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i_u *)(const void *)(blocks + 16 * i)), order);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) {
            const __m128i now = quad[i % 4], next = quad[(i + 1) % 4], after = quad[(i + 2) % 4], last = quad[(i + 3) % 4];
            const __m128i sum = _mm_add_epi32(now, _mm_loadu_si128((const __m128i_u *)(lli_hash_constant + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
            if (i < 12)
                quad[i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(now, next), _mm_alignr_epi8(last, after, 4)), last);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i_u *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i_u *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool lli_hash_x86(void) {
    return false;
}

void lli_hash_compress_x86(uint32_t state[8], const unsigned char *blocks, size_t count) {
    lli_hash_compress(state, blocks, count);
}

#endif
