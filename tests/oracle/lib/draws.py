# SPDX-License-Identifier: MIT
"""The project's random numbers, written a second time in numpy: Philox4x32-10, bounded draws, Fisher-Yates, dropout masks."""
import numpy as np

SHUFFLE, RESAMPLE, NOISE, TRAIN_MASK, PREDICT_MASK, BATCH, TEST = 1, 2, 3, 4, 5, 8, 255
LOW = np.uint64(0xFFFFFFFF)


def philox(counter, key):
    """counter [n,4], key (2): [n,4], all as uint64 below 2^32."""
    c = [np.asarray(counter, np.uint64)[:, i].copy() for i in range(4)]
    k0, k1 = int(key[0]), int(key[1])
    for _ in range(10):
        a = np.uint64(0xD2511F53) * c[0]
        b = np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & LOW, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & LOW]
        k0 = (k0 + 0x9E3779B9) % 2**32
        k1 = (k1 + 0xBB67AE85) % 2**32
    return np.stack(c, axis=1)


def blocks(seed, purpose, member, step, index):
    index = np.asarray(index, np.uint64)
    counter = np.empty((len(index), 4), np.uint64)
    counter[:, 0] = index & LOW
    counter[:, 1] = index >> np.uint64(32)
    counter[:, 2] = step % 2**32
    counter[:, 3] = purpose << 24 | member
    return philox(counter, (seed % 2**32, seed >> 32))


def below(seed, purpose, member, step, i, n):
    """One number in [0,n): the high 64 bits of a 64-bit draw times n, in exact integers."""
    lane = [int(x) for x in blocks(seed, purpose, member, step, [i // 2])[0]]
    draw = lane[2 * (i % 2)] | lane[2 * (i % 2) + 1] << 32
    return draw * n >> 64


def resample(N, seed, member):
    return [below(seed, RESAMPLE, member, 0, i, N) for i in range(N)]


def batch(rows, B, seed, member, step):
    return [rows[below(seed, BATCH, member, step, i, len(rows))] for i in range(B)]


def shuffle(rows, seed, member, epoch):
    order = list(rows)
    for i in range(len(order) - 1, 0, -1):
        j = below(seed, SHUFFLE, member, epoch, i, i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def keep_mask(rows, D, drop16, seed, purpose, member, step):
    """[len(rows),D] of 0 and 1/(1-p). 16 bit planes, the highest bit first; unit u of a row has bit row * span + u of each."""
    span = 32 if D <= 32 else 64 if D <= 64 else (D + 127) // 128 * 128
    numbers = np.zeros((len(rows), D), np.int64)
    for i, row in enumerate(rows):
        for unit in range(D):
            group, bit = divmod(row * span + unit, 128)
            planes = blocks(seed, purpose, member, step, group * 16 + np.arange(16))
            for plane in range(16):
                numbers[i, unit] |= (int(planes[plane, bit // 32]) >> (bit % 32) & 1) << (15 - plane)
    return np.where(numbers < drop16, 0.0, 65536 / (65536 - drop16))


def layer_mask(n, D, drop16, seed, purpose, member, step, layer):
    """The mask of rows 0 .. n-1 in one of a network's layers, [n,D], as above but without loops."""
    span = 32 if D <= 32 else 64 if D <= 64 else (D + 127) // 128 * 128
    groups = -(-n * span // 128)
    index = (np.arange(groups)[:, None] * 16 + np.arange(16)).ravel().astype(np.uint64) | np.uint64(layer << 56)
    words = blocks(seed, purpose, member, step, index).reshape(groups, 16, 4)
    bits = (words[:, :, :, None] >> np.arange(32, dtype=np.uint64) & np.uint64(1)).reshape(groups, 16, 128).astype(np.int64)
    numbers = (bits << (15 - np.arange(16))[None, :, None]).sum(1).ravel()[:n * span].reshape(n, span)[:, :D]
    return np.where(numbers < drop16, 0.0, 65536 / (65536 - drop16))


def uniform(stream, count):
    """Test data, as check_uniform of tests/check.h."""
    words = blocks(20260101, TEST, stream, 0, np.arange(-(-count // 4)))
    return words.astype(np.float64).ravel()[:count] * 2.0**-32


# Random123's known answers
assert philox([[0, 0, 0, 0]], (0, 0)).tolist() == [[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]]
assert philox([[0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]], (0xA4093822, 0x299F31D0)).tolist() == [
    [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]]
