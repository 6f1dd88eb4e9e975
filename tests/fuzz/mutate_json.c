/* SPDX-License-Identifier: MIT */
/* JSON by its tokens: values are replaced, removed, doubled and exchanged, numbers become awkward ones. Works on lines of JSON too. */
#include <string.h>

#include "mutate.h"

enum { TOKENS_MAX = 512, TOKEN_MAX = 256 };

typedef struct token {
    size_t at, size;
} token;

static const char *const awkward[] = {
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "8",
    "255",
    "256",
    "65536",
    "2147483647",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e400",
    "-1e400",
    "5e-324",
    "0.5",
    "NaN",
    "null",
    "true",
    "false",
    "\"\"",
    "\"x\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\u202e\"",
    "\"\\u001b[2J\"",
    "[]",
    "{}",
    "[0,0]",
    "[1]",
    "[0,9223372036854775807]",
    "\"F32\"",
    "\"F64\"",
    "\"I64\"",
    "\"BOOL\"",
    "\"BF16\"",
    "\"__metadata__\"",
};

static bool is_word(uint8_t c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '+' || c == '_';
}

static size_t token_size(const uint8_t *text, size_t size) {
    size_t n = 1;
    if (text[0] == '"') {
        while (n < size && text[n] != '"')
            n += text[n] == '\\' && n + 1 < size ? 2 : 1;
        return n < size ? n + 1 : size;
    }
    while (is_word(text[0]) && n < size && is_word(text[n]))
        n++;
    return n;
}

static size_t find_tokens(token *out, const uint8_t *text, size_t size) {
    size_t count = 0;
    for (size_t at = 0; at < size && count < TOKENS_MAX;) {
        if (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
            at++;
            continue;
        }
        out[count] = (token){at, token_size(text + at, size - at)};
        at += out[count++].size;
    }
    return count;
}

/* The bytes of the value that begins with token i: a word, or all between its brackets. */
static size_t value_size(const token *tokens, size_t count, size_t i, const uint8_t *text) {
    int depth = 0;
    for (size_t j = i; j < count; j++) {
        uint8_t c = text[tokens[j].at];
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth <= 0)
            return tokens[j].at + tokens[j].size - tokens[i].at;
    }
    return tokens[i].size;
}

static bool is_mark(uint8_t c) {
    return c == ',' || c == ':' || c == '}' || c == ']';
}

/* A value, doubled behind a comma or put in the place of another. */
static bool copy_value(mutation *m, uint8_t *data, size_t *size, size_t most, const token *tokens, size_t count, size_t i) {
    uint8_t value[TOKEN_MAX];
    size_t length = value_size(tokens, count, i, data), other = mutate_below(m, count);
    if (length >= sizeof value)
        return false;
    if (mutate_below(m, 2)) {
        value[0] = ',';
        memcpy(value + 1, data + tokens[i].at, length);
        return mutate_splice(data, size, most, tokens[i].at + length, 0, value, length + 1);
    }
    if (is_mark(data[tokens[other].at]))
        return false;
    memcpy(value, data + tokens[i].at, length);
    return mutate_splice(data, size, most, tokens[other].at, value_size(tokens, count, other, data), value, length);
}

/* The inside of one token by libFuzzer's own mutations: digits of a number, letters of a text. */
static bool change_inside(uint8_t *data, size_t *size, size_t most, token t) {
    uint8_t text[TOKEN_MAX];
    if (t.size > sizeof text / 2)
        return false;
    memcpy(text, data + t.at, t.size);
    bool quoted = data[t.at] == '"' && t.size >= 2;
    size_t length = quoted ? 2 + LLVMFuzzerMutate(text + 1, t.size - 2, sizeof text - 2) : LLVMFuzzerMutate(text, t.size, sizeof text);
    if (quoted)
        text[length - 1] = '"';
    return mutate_splice(data, size, most, t.at, t.size, text, length);
}

size_t mutate_json(mutation *m, uint8_t *data, size_t size, size_t most) {
    token tokens[TOKENS_MAX];
    size_t count = find_tokens(tokens, data, size);
    bool done = false;
    for (int tries = 0; count && tries < 4 && !done; tries++) {
        size_t i = mutate_below(m, count);
        token t = tokens[i];
        const char *word = awkward[mutate_below(m, sizeof awkward / sizeof *awkward)];
        size_t kind = mutate_below(m, 6), length = value_size(tokens, count, i, data);
        if (is_mark(data[t.at]) && kind != 5)
            continue;
        if (kind <= 1)
            done = mutate_splice(data, &size, most, t.at, length, word, strlen(word));
        else if (kind == 2) /* with the comma that follows */
            done = mutate_splice(data, &size, most, t.at, length + (t.at + length < size && data[t.at + length] == ','), NULL, 0);
        else if (kind == 3)
            done = copy_value(m, data, &size, most, tokens, count, i);
        else if (kind == 4)
            done = change_inside(data, &size, most, t);
        else
            done = mutate_splice(data, &size, most, t.at, t.size, NULL, 0);
    }
    return done ? size : 0;
}
