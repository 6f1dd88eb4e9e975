/* SPDX-License-Identifier: MIT */
/* Keyword arguments and the option tables of the library: Python's signatures, docstrings and stubs are made of these tables, and values go
 * into the structs through them. */
#include <math.h>
#include <string.h>

#include "native.h"

typedef struct described {
    const char *name;
    const ll_option *(*table)(size_t *count);
    void (*init)(void *options, size_t size);
    size_t size;
} described;

#define INIT(noun)                                        \
    static void init_##noun(void *options, size_t size) { \
        ll_##noun##_options_init(options, size);          \
    }
INIT(fit)
INIT(predict)
INIT(evaluate)
INIT(calibrate)
INIT(certify)
INIT(sets)
INIT(compare)
INIT(report)

#define DESCRIBED(noun) \
    { #noun, ll_##noun##_options_table, init_##noun, sizeof(ll_##noun##_options) }
static const described structs[] = {
    DESCRIBED(fit),     DESCRIBED(predict), DESCRIBED(evaluate), DESCRIBED(calibrate),
    DESCRIBED(certify), DESCRIBED(sets),    DESCRIBED(compare),  DESCRIBED(report),
};

enum { LARGEST = 1024 };

/* batch-size as batch_size */
static bool is_called(const ll_option *option, const char *word) {
    const char *name = option->name;
    for (; *name && *word; name++, word++)
        if ((*name == '-' ? '_' : *name) != *word)
            return false;
    return *name == *word;
}

static int wrong_type(const char *name, PyObject *value, const char *expected) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s is %R; expected %s", name, value, expected);
    return -1;
}

static int set_text(char *member, const char *name, PyObject *value, const char *expected) {
    const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
    if (!text)
        return wrong_type(name, value, expected);
    memcpy(member, &text, sizeof text);
    return 0;
}

static int set_whole(char *member, const char *name, PyObject *value, bool is_unsigned) {
    PyObject *index = PyNumber_Index(value);
    if (!index)
        return wrong_type(name, value, "a whole number");
    uint64_t bits = is_unsigned ? PyLong_AsUnsignedLongLong(index) : (uint64_t)PyLong_AsLongLong(index);
    Py_DECREF(index);
    if (PyErr_Occurred())
        return wrong_type(name, value, is_unsigned ? "a whole number of 0 to 2^64 - 1" : "a whole number of at most 2^63 - 1");
    memcpy(member, &bits, sizeof bits);
    return 0;
}

/* The number that a word of the choices stands for; NaN: it is none of them. */
static double word_value(const char *choices, PyObject *value) {
    const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL, *p = choices;
    size_t length;
    for (int i = 0; text && p && *p; i++, p += length + (p[length] == '|')) {
        length = strcspn(p, "|");
        if (strlen(text) == length && memcmp(p, text, length) == 0)
            return LL_OPTION_WORD(i);
    }
    return NAN;
}

static int set_real(char *member, const char *name, PyObject *value, const char *choices) {
    double number = word_value(choices, value);
    if (isnan(number))
        number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred()) {
        char expected[100];
        PyOS_snprintf(expected, sizeof expected, "a number%s%s", choices ? ", or one of " : "", choices ? choices : "");
        return wrong_type(name, value, expected);
    }
    memcpy(member, &number, sizeof number);
    return 0;
}

static int set(const ll_option *option, const char *name, PyObject *value, char *member) {
    if (value == Py_None)
        return 0; /* its default */
    switch (option->type) {
    case LL_OPTION_FLAG: {
        int truth = PyObject_IsTrue(value);
        *(bool *)member = truth > 0;
        return truth < 0 ? -1 : 0;
    }
    case LL_OPTION_INT: return set_whole(member, name, value, false);
    case LL_OPTION_SEED: return set_whole(member, name, value, true);
    case LL_OPTION_REAL: return set_real(member, name, value, option->choices);
    case LL_OPTION_TEXT: return set_text(member, name, value, "a text");
    case LL_OPTION_CHOICE: return set_text(member, name, value, option->choices);
    }
    return 0;
}

int keywords_fill(PyObject *dict, const ll_option *table, size_t count, void *options) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
        const char *word = PyUnicode_AsUTF8AndSize(key, NULL);
        if (!word)
            return -1;
        size_t i = 0;
        while (i < count && !is_called(&table[i], word))
            i++;
        if (i == count) {
            PyErr_Format(PyExc_TypeError, "there is no argument %s", word);
            return -1;
        }
        if (set(&table[i], word, value, (char *)options + table[i].offset) != 0)
            return -1;
    }
    return 0;
}

/* The default; None where nothing is set. */
static PyObject *standard_value(const ll_option *option, const char *member) {
    int64_t whole;
    double real;
    const char *text;
    memcpy(&whole, member, sizeof whole);
    memcpy(&real, member, sizeof real);
    memcpy(&text, member, sizeof text);
    switch (option->type) {
    case LL_OPTION_FLAG: return PyBool_FromLong(*(const bool *)member);
    case LL_OPTION_INT: break;
    case LL_OPTION_SEED: return PyLong_FromUnsignedLongLong((uint64_t)whole);
    case LL_OPTION_REAL:
        if (isnan(real) || (real == 0 && option->unset == LL_OPTION_UNSET_ZERO))
            Py_RETURN_NONE;
        return PyFloat_FromDouble(real);
    case LL_OPTION_TEXT:
    case LL_OPTION_CHOICE:
        if (text)
            return PyUnicode_FromString(text);
        Py_RETURN_NONE;
    }
    if (whole == 0 && option->unset == LL_OPTION_UNSET_ZERO)
        Py_RETURN_NONE;
    return PyLong_FromLongLong(whole);
}

static PyObject *styled(const char *text) {
    char words[2048];
    if (!text)
        Py_RETURN_NONE;
    ll_option_words(words, sizeof words, text, LL_OPTION_STYLE_MEMBER);
    return PyUnicode_FromString(words);
}

static PyObject *row_of(const ll_option *option, const char *options) {
    static const char *const types[] = {"flag", "int", "seed", "real", "text", "choice"};
    char name[64];
    size_t length = strnlen(option->name, sizeof name - 1);
    for (size_t i = 0; i <= length; i++)
        name[i] = option->name[i] == '-' ? '_' : option->name[i];
    return Py_BuildValue("{s:s,s:s,s:N,s:z,s:N,s:N}", "name", name, "type", types[option->type], "default",
                         standard_value(option, options + option->offset), "choices", option->choices, "standard", styled(option->standard),
                         "help", styled(option->help));
}

static PyObject *table_of(const described *d) {
    _Alignas(max_align_t) char options[LARGEST];
    if (d->size > sizeof options) {
        PyErr_Format(PyExc_SystemError, "the options of %s are larger than expected", d->name);
        return NULL;
    }
    d->init(options, d->size);
    size_t count;
    const ll_option *table = d->table(&count);
    PyObject *rows = PyList_New(0);
    for (size_t i = 0; rows && i < count; i++) {
        PyObject *row = row_of(&table[i], options);
        if (!row || PyList_Append(rows, row) != 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

PyObject *keywords_tables(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *tables = PyDict_New();
    for (size_t i = 0; tables && i < sizeof structs / sizeof *structs; i++) {
        PyObject *rows = table_of(&structs[i]);
        if (!rows || PyDict_SetItemString(tables, structs[i].name, rows) != 0)
            Py_CLEAR(tables);
        Py_XDECREF(rows);
    }
    return tables;
}
