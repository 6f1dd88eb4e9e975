#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The JSON reader against Python's: the same documents are taken, with the same values, and the same are refused. Speaks TAP.
Usage: tree.py PROGRAM (tree_echo.c)."""
import json
import math
import random
import subprocess
import sys

DEPTH = 100
rng = random.Random(5)
TEXTS = ["", "a", "\"\\/\b\f\n\r\t", "\u00e9\u20ac\U0001f600", "\x7f\u2028", "0", "key", "\ufffe"]
NUMBERS = [0, -1, 7, 2**53, 2**63 - 1, -2**63, 2**64, 0.5, -1e-300, 5e-324, 1.7976931348623157e308, 1e22, 123456789.125]


def strict(text):
    """Python's reader without what it adds to JSON: NaN, lone surrogates, keys twice; and with our limits."""
    def no_constant(word):
        raise ValueError(word)

    def no_twice(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("twice")
        return dict(pairs)

    def finite(word):
        value = float(word)
        if math.isinf(value):
            raise ValueError("too large")
        return value

    value = json.loads(text.decode("utf-8"), parse_constant=no_constant, object_pairs_hook=no_twice, parse_float=finite, parse_int=finite)
    check(value, 0)
    return value


def check(value, depth):
    if isinstance(value, (list, dict)):
        if depth >= DEPTH:
            raise ValueError("deep")
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            check(key if isinstance(key, str) else 0, depth + 1)
            check(child, depth + 1)
    elif isinstance(value, str):
        value.encode("utf-8")
        if "\0" in value:
            raise ValueError("zero")


def document(depth=0):
    kind = rng.randrange(7 if depth < 4 else 5)
    if kind == 5:
        return [document(depth + 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        return {rng.choice(TEXTS) + str(i): document(depth + 1) for i in range(rng.randrange(4))}
    return rng.choice([None, True, False, rng.choice(NUMBERS), rng.choice(TEXTS)])


def damaged(text):
    """One byte dropped, doubled or replaced, or the end cut off."""
    at = rng.randrange(len(text))
    byte = bytes([rng.choice(b'{}[]",:\\u0d9-+.eE tfn\x00\x1f\x80\xff\xed')])
    return rng.choice([text[:at] + text[at + 1:], text[:at] + text[at:at + 1] + text[at:], text[:at] + byte + text[at + 1:], text[:at]])


def by_hand():
    words = ["1.", ".5", "01", "-01", "-", "+1", "1e", "1e+", "0x1", "1e400", "-1e400", "NaN", "Infinity", "nan", "tru", "truee", "nulll", "", " ", "1 2",
             "[1,]", "[,1]", "[1 2]", "{,}", "{1:2}", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1,"a":2}', '{"a":1,"b":{"a":1}}', "[", "]", "[}", '"', '"\\"', '"\\x"', '"\\u12"',
             '"\\u0000"', '"\\ud800"', '"\\udc00"', '"\\ud83d\\ude00"', '"\\ud83d\\u0041"', '"\\uFFFF"', '"\t"', "-0", "0e0", "1E5", "\t[ 1 , 2 ]\r", "[" * DEPTH + "]" * DEPTH,
             "[" * (DEPTH + 1) + "]" * (DEPTH + 1), '{"a":' * (DEPTH + 1) + "1" + "}" * (DEPTH + 1), "\ufeff1"]
    raw = [b'"\xc0\x80"', b'"\xe0\x80\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xf5\x80\x80\x80"', b'"\x80"', b'"\xe2\x82"', b"1\x00", b"\x00", b'"a\x00b"']
    return [word.encode() for word in words] + raw


documents = by_hand()
for _ in range(4000):
    text = json.dumps(document(), ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, None, 1])).replace("\n", " ").encode()
    documents += [text, damaged(text)]
documents = [text for text in documents if b"\n" not in text]
answers = subprocess.run([sys.argv[1]], input=b"\n".join(documents) + b"\n", capture_output=True, check=True).stdout.split(b"\n")[:-1]
wrong = [f"{len(answers)} answers to {len(documents)} documents"] if len(answers) != len(documents) else []
taken = 0
for text, answer in zip(documents, answers):
    try:
        expected = strict(text)
    except (ValueError, RecursionError):
        if answer != b"format":
            wrong.append(f"{text!r} is taken as {answer!r}")
        continue
    taken += 1
    if answer == b"format" or strict(answer) != expected:
        wrong.append(f"{text!r} is read as {answer!r}")
print("1..1")
for line in wrong[:20]:
    print(f"# {line}")
print(f"{'not ok' if wrong or taken < 4000 else 'ok'} 1 - {len(documents)} documents, {taken} of them JSON")
