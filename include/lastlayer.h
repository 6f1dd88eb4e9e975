/* SPDX-License-Identifier: MIT */
/* lastlayer: an honest "I don't know" for any classifier.
 *
 * This header is the manual of the library, in the order in which data flows:
 *
 *     images --train--> network --encode--> features --fit--> ensemble --predict--> predictions --evaluate--> metrics --report--> page
 *
 *  1 status      what every function returns
 *  2 context     threads, progress, log, cancel, the text of the last error
 *  3 options     one table per option struct: names, ranges, defaults, help
 *  4 arrays      typed views, and files of named arrays
 *  5 dataset     checked features and labels
 *  6 network     images -> a trained representation, and the features it gives
 *  7 head        theta* = (W, b), given or solved for
 *  8 fit         dataset + head -> ensemble, by one of many methods
 *  9 ensemble    S members
 * 10 predict     ensemble x features -> label and confidences
 * 11 evaluate    predictions + labels -> metrics one can trust
 * 12 report      predictions -> one page to look at
 * 13 search      grids of options -> a store of finished trials, and the best of them
 * 14 calibrate   ensemble or outputs + labels -> probabilities that mean what they say
 * 15 certify     predictions + labels -> a cut with a promise
 * 16 sets        predictions + labels -> sets of classes that hold the true one
 * 17 diagnose    ensemble + dataset -> whether its chains have mixed
 *
 * Letters, everywhere: N rows, D features, K classes, S members, B batch size. Arrays are row-major; those of callers may have strides.
 *
 * Conventions: a function that can fail returns ll_status and puts its results first; on failure results are NULL or untouched
 * and ll_context_message() holds one sentence. _new/_free own memory, _read/_write touch files, _view borrows. The library never
 * prints, exits, aborts or changes the state of its host.
 *
 * Wrong arguments (NULL where something must be, a count below 0, a word or a number that does not exist, arrays that are none) are
 * LL_ERR_USAGE and never a crash; without a context there is only the status. Functions that return no status answer NULL, 0, -1, false,
 * NaN or an empty text where they are asked for what is not there. _free(NULL) does nothing.
 *
 * Lifetimes: what a function takes it does not need after it returned, unless it says "must outlive" or "borrows". What it returns is the
 * caller's to free, in any order; the context may go first (a predictor alone borrows it). Texts and views inside an object live as long
 * as the object.
 *
 * Versions: a program goes on running with newer libraries of the same soversion (from 0.2 on). So structs are of three kinds.
 * Structs that callers make and that may grow start with struct_size. Options are born by X_default() or X_init(), the others as zeros.
 * What a shorter, older one lacks has its default; a longer, newer one is taken as long as what this library does not know is zero.
 * Structs that the library makes may grow at their end, and are read through the pointer it returns (ll_evaluation, ll_certificate_info,
 * ll_compare_row, ll_trial and the like): a program does not make them, copy them or step from one to the next.
 * All others, such as ll_array, ll_option, ll_bin, ll_interval, ll_selective, ll_threshold and ll_score, never change.
 *
 * Threads: use one context per thread. A dataset, head or ensemble may be read by many threads at once; a predictor is one thread's.
 */
#ifndef LASTLAYER_H
#define LASTLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LL_VERSION "0.2.0"
#define LL_VERSION_MAJOR 0
#define LL_VERSION_MINOR 2
#define LL_VERSION_PATCH 0
#define LL_VERSION_NUMBER (LL_VERSION_MAJOR * 10000 + LL_VERSION_MINOR * 100 + LL_VERSION_PATCH) /* 0.2.0 is 200 */

#if defined(__GNUC__)
#define LL_API __attribute__((visibility("default")))
#define LL_CHECK_RESULT __attribute__((warn_unused_result))
#else
#define LL_API
#define LL_CHECK_RESULT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* An option struct is born with its defaults: TYPE_init fills the bytes that the caller's header knows, TYPE_default returns it. */
#define LL_DEFAULTS(type)                                       \
    LL_API void type##_init(type *options, size_t struct_size); \
    static inline type type##_default(void) {                   \
        type options;                                           \
        type##_init(&options, sizeof options);                  \
        return options;                                         \
    }

/* ---- 1 status ------------------------------------------------------------------------------------------------------------ */

/* The values are pinned: they are also the exit codes of the command. */
typedef enum ll_status {
    LL_OK = 0,
    LL_ERR_INTERNAL = 1,   /* a defect of lastlayer itself */
    LL_ERR_USAGE = 2,      /* an option or argument is wrong: name, range, combination */
    LL_ERR_READ = 3,       /* a file cannot be opened or read */
    LL_ERR_FORMAT = 4,     /* a file is not what it says: truncated, garbage, unsupported */
    LL_ERR_DATA = 5,       /* the arrays do not fit together or hold impossible values */
    LL_ERR_WRITE = 6,      /* the output cannot be written */
    LL_ERR_DIVERGED = 7,   /* training left the finite numbers, or its loss exploded */
    LL_ERR_MEMORY = 8,     /* memory ran out, or its limit (ll_context_options.memory) */
    LL_ERR_CANCELLED = 130 /* ll_context_cancel was called (Ctrl-C in the command) */
} ll_status;

LL_API const char *ll_status_name(ll_status status); /* "usage", "read", ... */
LL_API const char *ll_version(void);                 /* of the library that runs, LL_VERSION is of the header */
LL_API int ll_version_number(void);                  /* likewise, of LL_VERSION_NUMBER */

/* ---- 2 context ----------------------------------------------------------------------------------------------------------- */

typedef struct ll_context ll_context;

typedef enum ll_log_level { LL_LOG_NOTE, LL_LOG_WARNING } ll_log_level;

/* How a sentence writes an option, and one with its value. */
typedef enum ll_option_style {
    LL_OPTION_STYLE_MEMBER, /* prior_precision, by=sr: as the structs of this header */
    LL_OPTION_STYLE_FLAG    /* --prior-precision, --by sr: as the command */
} ll_option_style;

typedef struct ll_context_options {
    size_t struct_size;
    int threads;                  /* workers for independent work; 0 = as many as the process may use */
    ll_option_style option_style; /* of the sentences of this context */
    /* Both callbacks may come from any worker, one at a time. total > 0; done runs from 0 to total. */
    void (*progress)(void *user, const char *what, double done, double total);
    void (*log)(void *user, ll_log_level level, const char *sentence);
    void *user;
    /* Bytes that everything made with this context may take together, mapped files not counted; 0 = the limit of the control group, else
     * 3/4 of the machine's memory. Beyond it a call fails with LL_ERR_MEMORY. Unless a number is given here, what one file makes us take
     * is also limited, to 64 times its size plus 32 MiB: a small file cannot ask for much. */
    int64_t memory;
} ll_context_options;

LL_DEFAULTS(ll_context_options)
/* On LL_ERR_USAGE *out is a context all the same: it holds the sentence, and is to be freed. `user` and the callbacks must outlive it.
 *
 * fork: in a child process a context of the parent works, on the calling thread alone, and may be freed; so do all objects. That holds
 * when no call of the library was running in another thread at the fork. The numbers are the same, as for any number of threads. */
LL_API ll_status ll_context_new(ll_context **out, const ll_context_options *options /* NULL = default */) LL_CHECK_RESULT;
LL_API void ll_context_free(ll_context *ctx);
LL_API const char *ll_context_message(const ll_context *ctx); /* of the last failure; "" if none */
LL_API int ll_context_threads(const ll_context *ctx);
LL_API void ll_context_cancel(ll_context *ctx);   /* from any thread or signal handler: running calls return LL_ERR_CANCELLED */
LL_API void ll_context_uncancel(ll_context *ctx); /* calls work again; when no call is running */

/* The kernels in use: "ref", "base", "v3", "v4". Numbers are the same bits on every machine of one level. The environment variable
 * LASTLAYER_ISA chooses another one; with an unknown or unsupported name this is "none", and what computes fails with LL_ERR_USAGE. */
LL_API const char *ll_isa(void);

/* ---- 3 options ----------------------------------------------------------------------------------------------------------- */

/* Option structs are described by tables, so that parsing, range checks, help, manual and provenance agree by construction. */
typedef enum ll_option_type {
    LL_OPTION_FLAG,   /* bool */
    LL_OPTION_INT,    /* int64_t */
    LL_OPTION_SEED,   /* uint64_t */
    LL_OPTION_REAL,   /* double */
    LL_OPTION_TEXT,   /* const char *, borrowed */
    LL_OPTION_CHOICE, /* const char *, one word of `choices` */
} ll_option_type;

/* The value of a number that stands for "not set": then its default depends on the method, the data or the machine, or there is none.
 * A text that is NULL is not set. */
typedef enum ll_option_unset {
    LL_OPTION_UNSET_NEVER, /* every value counts */
    LL_OPTION_UNSET_ZERO,  /* 0, which the command writes auto */
    LL_OPTION_UNSET_NAN    /* NaN, which the command cannot write */
} ll_option_unset;

typedef struct ll_option {
    const char *name; /* "batch-size": the member with - for _, the flag without dashes in front */
    char letter;      /* short flag, 0 if none */
    ll_option_type type;
    size_t offset;           /* of the member in its struct */
    const char *arg;         /* "B": what --help calls the value */
    const char *choices;     /* "a|b|c" for LL_OPTION_CHOICE; of LL_OPTION_REAL words that may stand instead of the number, or NULL */
    double min, max;         /* range of a number that is set */
    bool open_min, open_max; /* the bound itself is excluded */
    const char *standard;    /* the default in words, NULL if there is none */
    const char *help;        /* one sentence; here and in `standard` other options stand in backquotes, as ll_option_words takes them */
    ll_option_unset unset;
} ll_option;

/* The value of a LL_OPTION_REAL that is word i of its `choices`. */
#define LL_OPTION_WORD(i) (-1e100 * (1 + (i)))

/* Writes the options that stand in backquotes, `lr` or with a value `by sr`, in a style. As snprintf: fills at most `size` bytes of `out`
 * (NULL where size is 0), returns the length of the whole. */
LL_API size_t ll_option_words(char *out, size_t size, const char *text, ll_option_style style);

/* Refuses the first value out of its range or choices: LL_ERR_USAGE, with the flag, the value and the range in the message. A choice that
 * is NULL stands for its default. */
LL_API ll_status ll_option_check(ll_context *ctx, const ll_option *table, size_t count, const void *options) LL_CHECK_RESULT;

/* ---- 4 arrays ------------------------------------------------------------------------------------------------------------ */

typedef enum ll_dtype {
    LL_DTYPE_BOOL,
    LL_DTYPE_I8,
    LL_DTYPE_U8,
    LL_DTYPE_I16,
    LL_DTYPE_U16,
    LL_DTYPE_I32,
    LL_DTYPE_U32,
    LL_DTYPE_I64,
    LL_DTYPE_U64,
    LL_DTYPE_F16,
    LL_DTYPE_BF16,
    LL_DTYPE_F32,
    LL_DTYPE_F64
} ll_dtype;

LL_API size_t ll_dtype_size(ll_dtype dtype);      /* 0 if there is none */
LL_API const char *ll_dtype_name(ll_dtype dtype); /* "f32", "i64", ... */

enum { LL_ARRAY_RANK_MAX = 8 };

/* A borrowed view in the machine's byte order. Every call takes strides; what a call gives out is dense. */
typedef struct ll_array {
    const void *data;
    ll_dtype dtype;
    int rank;
    int64_t shape[LL_ARRAY_RANK_MAX];
    int64_t strides[LL_ARRAY_RANK_MAX]; /* bytes from an element to the next along each axis, also below 0; all 0 = dense, row-major */
} ll_array;

/* The data must outlive the view; shape and strides are copied. */
LL_API ll_array ll_array_view(const void *data, ll_dtype dtype, int rank, const int64_t *shape);
LL_API ll_array ll_array_strided(const void *data, ll_dtype dtype, int rank, const int64_t *shape, const int64_t *strides);

/* A file of named arrays: .npy .npz .safetensors .idx[.gz] .csv .png, detected from the content, or CIFAR binary, by the extension .bin and
 * the length. Large arrays stay on disk, memory-mapped.
 * A file that holds one nameless array (.npy, .idx) gives it the name "array". */
typedef struct ll_bundle ll_bundle;

LL_API ll_status ll_bundle_read(ll_bundle **out, ll_context *ctx, const char *path) LL_CHECK_RESULT;
/* The same from the bytes of such a file in memory, which are copied; CIFAR binary is none of them. `name` is what sentences call it. */
LL_API ll_status ll_bundle_read_bytes(ll_bundle **out, ll_context *ctx, const void *bytes, size_t size, const char *name) LL_CHECK_RESULT;
LL_API void ll_bundle_free(ll_bundle *bundle);
LL_API const char *ll_bundle_format(const ll_bundle *bundle); /* "npz", ... */
LL_API const char *ll_bundle_path(const ll_bundle *bundle);   /* where it was read from; "" for one made in memory */
LL_API int64_t ll_bundle_count(const ll_bundle *bundle);
LL_API const char *ll_bundle_name(const ll_bundle *bundle, int64_t i);
LL_API ll_array ll_bundle_array(const ll_bundle *bundle, int64_t i);      /* borrows from the bundle */
LL_API int64_t ll_bundle_find(const ll_bundle *bundle, const char *name); /* index, or -1 */
LL_API int64_t ll_bundle_meta_count(const ll_bundle *bundle);
LL_API const char *ll_bundle_meta_key(const ll_bundle *bundle, int64_t i);
LL_API const char *ll_bundle_meta_value(const ll_bundle *bundle, int64_t i);

/* One array of a file. `where` is FILE or FILE:NAME; FILE alone must hold exactly one array, or one called by one of the `names`
 * (a NULL-terminated list, may be NULL). The view lives as long as the bundle. */
LL_API ll_status ll_array_read(ll_bundle **out, ll_array *array, ll_context *ctx, const char *where,
                               const char *const *names) LL_CHECK_RESULT;

/* Many files under one name: a pattern ('emb/part-*.npy'), a text file with one path a line (@list.txt, relative to its folder), or a
 * folder (its .npy, .npz and .safetensors files), each with or without :NAME behind it. In the order of the list, else in that of the
 * bytes of their names. A FILE or FILE:NAME is itself, and need not exist. LL_ERR_READ where nothing is found. */
typedef struct ll_files ll_files;
LL_API ll_status ll_files_find(ll_files **out, ll_context *ctx, const char *where) LL_CHECK_RESULT;
LL_API void ll_files_free(ll_files *files);
LL_API int64_t ll_files_count(const ll_files *files);
LL_API const char *ll_files_at(const ll_files *files, int64_t i); /* FILE or FILE:NAME */

typedef struct ll_named_array {
    const char *name;
    ll_array array;
} ll_named_array;

typedef struct ll_meta {
    const char *key, *value;
} ll_meta;

/* Writes arrays; the format is the extension's. The target is replaced in one step, or left as it was. */
LL_API ll_status ll_bundle_write(ll_context *ctx, const char *path, const ll_named_array *arrays, int64_t count, const ll_meta *meta,
                                 int64_t meta_count) LL_CHECK_RESULT;

typedef struct ll_convert_options {
    size_t struct_size;
    const char *dtype;  /* NULL = as it is */
    double divide;      /* values are divided by it; 1 = not at all */
    bool flatten;       /* [N,a,b,...] -> [N,a*b*...] */
    const char *labels; /* FILE or FILE:NAME written beside the rest, as it is, as "labels"; NULL = none */
} ll_convert_options;

LL_DEFAULTS(ll_convert_options)
LL_API const ll_option *ll_convert_options_table(size_t *count);
/* FILE or FILE:NAME -> another format, by the extension of `to`. */
LL_API ll_status ll_convert(ll_context *ctx, const char *to, const char *from, const ll_convert_options *options) LL_CHECK_RESULT;

/* ---- 5 dataset ----------------------------------------------------------------------------------------------------------- */

/* Features [N,D] and, where known, labels [N]. Checked once when made: N > 0, finite features, labels in [0,K), two classes at
 * least. Dense f32 and f16 features are used in place; other number types (bf16 too) and strides are converted to dense f32 in memory,
 * 4 N D bytes. */
typedef struct ll_dataset ll_dataset;

/* `labels` may be NULL. `classes` K: 0 = 1 + the largest label, refused above N. The features must outlive the dataset, unless they had to
 * be converted; labels are copied. Heads, networks, ensembles and predictions need no dataset after the call that made them. */
LL_API ll_status ll_dataset_new(ll_dataset **out, ll_context *ctx, ll_array features, const ll_array *labels,
                                int64_t classes) LL_CHECK_RESULT;
/* From files, which it keeps open: they may be removed or replaced by rename meanwhile, but not written into. Both may be many files, as
 * ll_files_find finds them: their rows follow each other, and results are those of one file with all of them. Such features are read into
 * memory where they take at most a third of it; more than that stay in their files, and then those must stay as they are. */
LL_API ll_status ll_dataset_read(ll_dataset **out, ll_context *ctx, const char *features, const char *labels,
                                 int64_t classes) LL_CHECK_RESULT;
/* The same of lists: `count` files of features, and as many of labels as there are. FILE or FILE:NAME each; `labels` may be NULL. */
LL_API ll_status ll_dataset_read_files(ll_dataset **out, ll_context *ctx, const char *const *features, int64_t count,
                                       const char *const *labels, int64_t label_count, int64_t classes) LL_CHECK_RESULT;
/* Of files that are open: the array `features` of `bundle`, which must outlive the dataset, and `labels` of `labels_bundle`, which may be
 * the same. A name that is NULL is found as ll_dataset_read finds it. Without `labels_bundle`, `labels` is FILE or FILE:NAME, or NULL for
 * none. */
LL_API ll_status ll_dataset_from_bundle(ll_dataset **out, ll_context *ctx, const ll_bundle *bundle, const char *features,
                                        const ll_bundle *labels_bundle, const char *labels, int64_t classes) LL_CHECK_RESULT;
/* Gives the rows weights w, in place of those they had: the training sum has w times the term of a row, and the prior stays. `weights` one
 * number a row, `class_weights` one a class; with both, their product. Numbers of at least 0, kept as f32. Rows of weight 0 are left out of
 * all training, as if they were not there; N is then the number of the others. Predictions and metrics know no weights. */
LL_API ll_status ll_dataset_weigh(ll_context *ctx, ll_dataset *data, const ll_array *weights,
                                  const ll_array *class_weights) LL_CHECK_RESULT;
/* Multiplies the weights by N / (K n_k): of N rows of positive weight, n_k are of class k, and K classes occur. So each class counts as
 * much as every other, and all rows together as N. */
LL_API ll_status ll_dataset_balance(ll_context *ctx, ll_dataset *data) LL_CHECK_RESULT;
/* From files, FILE or FILE:NAME or NULL; `class_weights` may be "balanced", which balances the rows left by `weights`. */
LL_API ll_status ll_dataset_weigh_read(ll_context *ctx, ll_dataset *data, const char *weights, const char *class_weights) LL_CHECK_RESULT;
LL_API void ll_dataset_free(ll_dataset *data);
LL_API int64_t ll_dataset_rows(const ll_dataset *data);          /* N */
LL_API int64_t ll_dataset_features(const ll_dataset *data);      /* D */
LL_API int64_t ll_dataset_classes(const ll_dataset *data);       /* K, 0 without labels */
LL_API const int32_t *ll_dataset_labels(const ll_dataset *data); /* [N] or NULL */
LL_API const float *ll_dataset_weights(const ll_dataset *data);  /* [N] or NULL */

/* Images: bytes [N,H,W,C] with 1 (grey) or 3 channels, for networks. A network reads x = (byte - shift) * scale: 0 and 1/255 for grey; for
 * colour the mean and 1/(std + 1e-7) over all pixels and channels of the training images of all classes. */
typedef struct ll_images ll_images;

typedef enum ll_images_part { LL_IMAGES_TRAIN, LL_IMAGES_TEST, LL_IMAGES_OUT } ll_images_part;

typedef struct ll_images_options {
    size_t struct_size;
    const char *classes;  /* which to keep: "all", "first:n", "last:n", "random:n", or a list of class numbers "0,3,4" */
    uint64_t seed;        /* of random:n */
    double shift, scale;  /* as a network file says; scale 0 = from the training images */
    const char *out_data; /* another source whose test images are the part out; NULL = test images of the classes left out */
    bool of_network;      /* `classes` are those a network knows, not a choice: images without labels are all taken */
} ll_images_options;

LL_DEFAULTS(ll_images_options)
LL_API const ll_option *ll_images_options_table(size_t *count);
/* `data`: mnist, fashion, cifar10, cifar100 or quickdraw, whose files lie in $LASTLAYER_DATA/NAME or data/NAME (tools/get-data puts them
 * there); a folder with files of their names; or one file: x_train, y_train, x_test, y_test, or just images (and labels), which are its
 * part test. The classes kept become labels 0, 1, 2, ... */
LL_API ll_status ll_images_read(ll_images **out, ll_context *ctx, const char *data, const ll_images_options *options) LL_CHECK_RESULT;
LL_API void ll_images_free(ll_images *images);
LL_API ll_dataset *ll_images_dataset(const ll_images *images, ll_images_part part); /* borrowed; NULL if there is none */
LL_API const int32_t *ll_images_classes(const ll_images *images, int64_t *count);   /* [K] original class numbers, in label order */

/* ---- 6 network ----------------------------------------------------------------------------------------------------------- */

/* A trained network: a representation (all but its last dense layer) and a softmax head (that layer). Described by a short text:
 *
 *     mlp:512,20         dense layers of 512 and 20 units with ReLU, then dense K
 *     vgg16              VGG-16 with batch norm for images of 32x32; vgg16:width=0.25 has a quarter of its channels,
 *                        vgg16:dropout=0.3 each of its own dropout rates (.3, .4, .5) times 0.3, vgg16:width=0.5,dropout=0 both
 *     head:2             two dense layers on features: L - 1 hidden ones of D units with ReLU, then dense K */
typedef struct ll_network ll_network;

/* The network is in memory: it needs no file afterwards. */
LL_API ll_status ll_network_read(ll_network **out, ll_context *ctx, const char *path) LL_CHECK_RESULT;
LL_API ll_status ll_network_write(ll_context *ctx, const char *path, const ll_network *network) LL_CHECK_RESULT; /* .safetensors */
LL_API void ll_network_free(ll_network *network);
LL_API const char *ll_network_text(const ll_network *network); /* "mlp:512,20" */
LL_API int64_t ll_network_classes(const ll_network *network);  /* K */
LL_API int64_t ll_network_features(const ll_network *network); /* D of its representation */
/* How to read images for this network: its classes, its shift and scale. Borrows from the network. */
LL_API void ll_network_images_init(ll_images_options *options, size_t struct_size, const ll_network *network);
static inline ll_images_options ll_network_images(const ll_network *network) {
    ll_images_options options;
    ll_network_images_init(&options, sizeof options, network);
    return options;
}
/* Rows of the training set that it never saw, ascending; *count may be 0. */
LL_API const int64_t *ll_network_holdout(const ll_network *network, int64_t *count);
/* How many of these rows it held out: none, unless it was trained on just them. */
LL_API int64_t ll_network_held(const ll_network *network, const ll_dataset *data);

/* One pass over the training rows. NaN where no rows were held out. */
typedef struct ll_epoch {
    int64_t epoch;                  /* from 1 */
    double lr;                      /* at its first step */
    double nll;                     /* mean over its steps: each batch before its update, dropout and augmentation on */
    double held_nll, held_accuracy; /* of the held-out rows at its end */
    double seconds;                 /* 0 in a network that was read */
} ll_epoch;

LL_API const ll_epoch *ll_network_epochs(const ll_network *network, int64_t *count);
LL_API int64_t ll_network_kept(const ll_network *network); /* the epoch whose parameters it has, from 1 */

/* A network that Keras (.keras, .h5) or PyTorch (its tensors as .safetensors or .npz) trained: dense layers, convolutions and batch norms,
 * taken in the order of the file. */
typedef struct ll_import_options {
    size_t struct_size;
    const char *net;          /* NULL = recognised by the shapes: mlp:..., vgg16 */
    const char *input;        /* "HEIGHTxWIDTHxCHANNELS"; NULL = of the images, else by the shapes */
    double shift, scale;      /* of its pixels, as in ll_images_options; each NaN = of the images, else 0 and 1/255 for grey ones */
    double batchnorm_epsilon; /* of its batch norms; 0 = what is usual there: Keras 1e-3, PyTorch 1e-5 */
} ll_import_options;

LL_DEFAULTS(ll_import_options)
LL_API const ll_option *ll_import_options_table(size_t *count);
/* `images`: what it was trained on, for the shape of its input, shift, scale and classes; may be NULL. */
LL_API ll_status ll_network_import(ll_network **out, ll_context *ctx, const char *path, const ll_images *images,
                                   const ll_import_options *options) LL_CHECK_RESULT;

typedef struct ll_train_options {
    size_t struct_size;
    const char *net;
    int64_t epochs;
    const char *optimiser; /* "adam" "sgd" "nesterov" */
    double lr;             /* 0 = what is usual: adam 1e-3, sgd and nesterov 0.1 */
    int64_t batch_size;    /* B */
    double momentum;       /* of sgd and nesterov */
    double l2;             /* the loss has l2 |w|^2 of the hidden kernels */
    int64_t lr_every;      /* epochs after which lr is multiplied by lr_factor, again and again; 0 = never */
    double lr_factor;
    double lr_decay;     /* lr is divided by 1 + lr_decay k after k steps */
    const char *augment; /* "none", or like "rotate=15,shift=0.1,flip": degrees, share of the side, mirror */
    const char *keep;    /* "last" epoch, or "best": held-out accuracy, of equals the least held-out NLL */
    bool no_holdout;     /* else a tenth of the rows, chosen by the seed, is not trained on */
    uint64_t seed;
    const int32_t *classes; /* [K] original ids of the classes, of ll_images_classes; NULL = 0 .. K-1 */
    const char *schedule;   /* of lr: "step" (lr_every, lr_factor, lr_decay), "cosine" down to 0, "one-cycle" up and down */
    double warm_up;         /* epochs in which lr rises; 0 = what is usual: one-cycle 0.3 of the epochs, others none */
} ll_train_options;

/* The paper's recipe for this network (NULL: mlp:512,20). */
LL_API void ll_train_options_init(ll_train_options *options, size_t struct_size, const char *net);
static inline ll_train_options ll_train_options_default(const char *net) {
    ll_train_options options;
    ll_train_options_init(&options, sizeof options, net);
    return options;
}
LL_API const ll_option *ll_train_options_table(size_t *count);
/* A note per epoch goes to the log. */
LL_API ll_status ll_train(ll_network **out, ll_context *ctx, const ll_dataset *data, const ll_train_options *options) LL_CHECK_RESULT;
/* The same, into a .safetensors file, and also to *out where that is not NULL. PATH.partial has the state after the last whole epoch: with
 * `resume` an interrupted run goes on from there and ends in the same bits; without it an existing PATH.partial is refused. */
LL_API ll_status ll_train_write(ll_network **out, ll_context *ctx, const char *path, const ll_dataset *data,
                                const ll_train_options *options, bool resume) LL_CHECK_RESULT;

typedef struct ll_network_score {
    int64_t n;
    double nll, accuracy;
} ll_network_score;

/* On rows with labels, numbered as the network's classes. */
LL_API ll_status ll_network_evaluate(ll_network_score *out, ll_context *ctx, const ll_network *network,
                                     const ll_dataset *data) LL_CHECK_RESULT;

/* What to encode; NULL where there is none. */
typedef struct ll_encode_data {
    size_t struct_size;      /* sizeof(ll_encode_data), or 0: the layout of 0.2 */
    const ll_dataset *train; /* becomes train and, for the rows that were held out, val */
    const ll_dataset *test;
    const ll_dataset *out; /* out-of-distribution rows */
} ll_encode_data;

typedef struct ll_encode_options {
    size_t struct_size;
    int64_t block; /* rows per block; does not change a bit */
} ll_encode_options;

LL_DEFAULTS(ll_encode_options)
LL_API const ll_option *ll_encode_options_table(size_t *count);
typedef struct ll_encoded ll_encoded; /* what it holds: at the end of section 7 */

/* Features of the last layer, and that layer as the head, in memory. */
LL_API ll_status ll_encode(ll_encoded **out, ll_context *ctx, const ll_network *network, const ll_encode_data *data,
                           const ll_encode_options *options) LL_CHECK_RESULT;
/* The same into an .npz (or .safetensors): features_{train,val,test,out}, labels_{train,val,test}, W, b, classes. */
LL_API ll_status ll_encode_write(ll_context *ctx, const char *path, const ll_network *network, const ll_encode_data *data,
                                 const ll_encode_options *options) LL_CHECK_RESULT;

/* ---- 7 head -------------------------------------------------------------------------------------------------------------- */

/* theta = (W [K,D], b [K]) of p(k|z) = softmax(W z + b)_k. */
typedef struct ll_head ll_head;

typedef enum ll_head_layout { LL_HEAD_LAYOUT_AUTO, LL_HEAD_LAYOUT_KD, LL_HEAD_LAYOUT_DK } ll_head_layout;

/* W is [K,D] (PyTorch) or [D,K] (Keras), distinguished by `features` D; bias may be NULL = zeros. When D = K the layout must be said. Both
 * are copied. */
LL_API ll_status ll_head_new(ll_head **out, ll_context *ctx, ll_array weight, const ll_array *bias, int64_t features,
                             ll_head_layout layout) LL_CHECK_RESULT;
/* `weight` FILE or FILE:NAME. In a file with several arrays W/b, weight/bias, kernel/bias, fc.weight/fc.bias and the like are found. */
LL_API ll_status ll_head_read(ll_head **out, ll_context *ctx, const char *weight, const char *bias /* or NULL */, int64_t features,
                              ll_head_layout layout) LL_CHECK_RESULT;

typedef struct ll_head_solve_options {
    size_t struct_size;
    double prior_precision; /* tau */
    double tolerance;       /* on the norm of the gradient of the mean objective */
    int64_t iterations_max;
} ll_head_solve_options;

LL_DEFAULTS(ll_head_solve_options)
/* The MAP by L-BFGS: argmin (1/N) sum -log p(y_i|z_i) + tau/(2N) |theta|^2. Not converged = a warning through the log, not a failure. */
LL_API ll_status ll_head_solve(ll_head **out, ll_context *ctx, const ll_dataset *data,
                               const ll_head_solve_options *options) LL_CHECK_RESULT;
LL_API void ll_head_free(ll_head *head);
LL_API int64_t ll_head_classes(const ll_head *head);
LL_API int64_t ll_head_features(const ll_head *head);
LL_API ll_array ll_head_weight_view(const ll_head *head); /* f32 [K,D] */
LL_API ll_array ll_head_bias_view(const ll_head *head);   /* f32 [K] */
LL_API double ll_head_gradient_norm(const ll_head *head); /* reached by ll_head_solve; NaN for a given head */

/* A file of ll_encode_write, or one with arrays of these names: opened and read once, all its parts checked. The parts belong to it, as
 * do those of ll_encode. */
LL_API ll_status ll_encoded_read(ll_encoded **out, ll_context *ctx, const char *path) LL_CHECK_RESULT;
LL_API void ll_encoded_free(ll_encoded *encoded);
LL_API ll_dataset *ll_encoded_train(const ll_encoded *encoded); /* features_train with labels_train where there are some, or NULL */
LL_API ll_dataset *ll_encoded_val(const ll_encoded *encoded);
LL_API ll_dataset *ll_encoded_test(const ll_encoded *encoded);
LL_API ll_dataset *ll_encoded_out(const ll_encoded *encoded);
LL_API const ll_head *ll_encoded_head(const ll_encoded *encoded); /* W and b, or NULL */
LL_API ll_array ll_encoded_classes(const ll_encoded *encoded);    /* whole numbers [K], the labels of the images; rank -1 without */

/* ---- 8 fit --------------------------------------------------------------------------------------------------------------- */

/* Values of prior_precision that ask for a choice, by the Gaussian of laplace; for heads. docs/math/laplace.md */
#define LL_PRIOR_EVIDENCE LL_OPTION_WORD(0)   /* the one under which the labels are likeliest */
#define LL_PRIOR_VALIDATION LL_OPTION_WORD(1) /* the one with the least NLL on `validation` */

typedef struct ll_fit_options {
    size_t struct_size;
    const char *method;     /* a name of ll_method_get, such as "sgld" */
    int64_t samples;        /* S; 0 = the method's default */
    double lr;              /* 0 = auto: 1/(1 + mean |z|^2), for networks at most 0.01 */
    int64_t batch_size;     /* B */
    int64_t epochs;         /* of bootstrap and dropout; 0 = the method's default */
    double dropout;         /* p of dropout */
    double prior_precision; /* tau; LL_PRIOR_EVIDENCE, LL_PRIOR_VALIDATION */
    uint64_t seed;
    int64_t thin;           /* steps between samples of sgd, sgld; 0 = one epoch */
    int64_t burn_in;        /* epochs before the first sample */
    double lr_t0, lr_power; /* lr_k = lr (1 + k/t0)^-power; t0 = 0: constant */
    const char *shuffle;    /* "full"; "block:ROWS" for features larger than memory; "independent": each batch with replacement */
    int64_t layers;         /* L dense layers on the features: L - 1 hidden ones of D units with ReLU, then the last */
    const char *dropout_at; /* of a whole network: "paper", or "own" for the network's own dropout layers */
    const char *init;       /* how theta* is found where none is given: "map" or "adam"; NULL = map for one layer, adam for more */
    const char *key;       /* what the masks of new rows depend on: "row", the number, or "content", 64 bits of SHA-256 of the row as f32 */
    const char *structure; /* of laplace, how it takes the Hessian: "full", "kfac", "diagb" (many classes) or "diag" */
    bool common_mode;      /* of laplace: keep the direction that adds one vector to all classes, which no row informs */
    int64_t chains;        /* of sgd and the samplers: independent chains from theta*, each with S/chains members, chain after chain */
    const char *precondition;     /* of sgld on a head: "none"; "kfac": steps as long in each direction as the posterior is wide */
    const char *control_variates; /* of sgld on a head: "on", "off"; "auto": on with a preconditioner */
    const char *scores; /* scores from features that predictions will have: names of LL_SCORE_NAMES with commas, or "all"; NULL = none */
    bool solve;         /* of bootstrap on a head: each member is the MAP of its resample, instead of epochs of SGD */
    const ll_dataset *validation; /* rows that training has not seen, with labels, for LL_PRIOR_VALIDATION; NULL = none */
} ll_fit_options;

LL_DEFAULTS(ll_fit_options)
LL_API const ll_option *ll_fit_options_table(size_t *count);

typedef struct ll_method_info {
    const char *name, *summary;
    int64_t samples, epochs; /* defaults; 0 where the method has no such notion */
    const char *group;       /* in the table of ll_compare: "point", "ensembles", "Gaussian", "samplers" */
} ll_method_info;

LL_API size_t ll_method_count(void);
LL_API const ll_method_info *ll_method_get(size_t i); /* NULL behind the last */
/* Does the method read this option? (for notes on unused flags) */
LL_API bool ll_method_uses(const char *method, const char *option);

typedef struct ll_ensemble ll_ensemble;

/* theta* = head; NULL = the MAP. The result is in memory, and needs neither data nor head afterwards. */
LL_API ll_status ll_fit(ll_ensemble **out, ll_context *ctx, const ll_dataset *data, const ll_head *head,
                        const ll_fit_options *options) LL_CHECK_RESULT;

/* The same, straight to a .safetensors file, member by member through PATH.partial, and also to *out (mapped) where that is not NULL.
 * With `resume` a killed run goes on from there and ends in the same bits; without it an existing PATH.partial is refused, so that
 * nothing is lost. */
LL_API ll_status ll_fit_write(ll_ensemble **out, ll_context *ctx, const char *path, const ll_dataset *data, const ll_head *head,
                              const ll_fit_options *options, bool resume) LL_CHECK_RESULT;

/* The same for a whole network on the images that it was trained on: theta* = network, all of its parameters move, its own dropout and
 * augmentation stay on while members are trained. Rows that it held out are left out, if `data` are its own. The method ensemble trains
 * each member from a start of its own, by the options in the network's file. */
LL_API ll_status ll_fit_network(ll_ensemble **out, ll_context *ctx, const ll_dataset *data, const ll_network *network,
                                const ll_fit_options *options) LL_CHECK_RESULT;
LL_API ll_status ll_fit_network_write(ll_ensemble **out, ll_context *ctx, const char *path, const ll_dataset *data,
                                      const ll_network *network, const ll_fit_options *options, bool resume) LL_CHECK_RESULT;

/* Part `part` (1 to `parts`) of the same, into PATH.part-I-of-N, for processes that share the work without talking to each other: whole
 * members, or whole chains where these make several. theta* is `head` or `network`; both NULL = the MAP. A part may have nothing to do; it
 * is written all the same. `resume` as above, from PATH.part-I-of-N.partial. */
LL_API ll_status ll_fit_part_write(ll_context *ctx, const char *path, const ll_dataset *data, const ll_head *head,
                                   const ll_network *network, const ll_fit_options *options, int64_t part, int64_t parts,
                                   bool resume) LL_CHECK_RESULT;
/* PATH out of all its parts, with the bytes of the undivided run. Parts of other runs are refused, missing ones named. The parts stay. */
LL_API ll_status ll_merge(ll_context *ctx, const char *path) LL_CHECK_RESULT;

/* ---- 9 ensemble ---------------------------------------------------------------------------------------------------------- */

/* From arrays: W [S,K,D], b [S,K] (NULL = zeros), how much each member counts [S] (NULL = the same), in any real type; all are copied.
 * `provenance`: pairs that go into its file and into that of its predictions; the entry "method", small letters, names what made it
 * (else "given"). With W [1,K,D] and the entries "drop16" and "seed" of an ensemble of MC-Dropout it is that one again. */
LL_API ll_status ll_ensemble_new(ll_ensemble **out, ll_context *ctx, ll_array weight, const ll_array *bias, const ll_array *member_weight,
                                 const ll_meta *provenance, int64_t count) LL_CHECK_RESULT;

/* S members; immutable. MC-Dropout stores one parameter vector and makes S members of it by masks at prediction. One that was read keeps
 * its file mapped: the file may be removed or replaced by rename meanwhile, but not written into. */
LL_API ll_status ll_ensemble_read(ll_ensemble **out, ll_context *ctx, const char *path) LL_CHECK_RESULT;
/* S members of an ensemble that keeps a Gaussian in their place (laplace), as parameters, without its scores, calibration and certificate.
 * They give other draws than its predictions: parameters are drawn, not the logits of each row. */
LL_API ll_status ll_ensemble_draw(ll_ensemble **out, ll_context *ctx, const ll_ensemble *of) LL_CHECK_RESULT;
LL_API ll_status ll_ensemble_write(ll_context *ctx, const char *path, const ll_ensemble *ensemble) LL_CHECK_RESULT;
/* The bytes of that file, to free with ll_bytes_free; and back, from a copy of them. */
LL_API ll_status ll_ensemble_write_bytes(void **out, size_t *size, ll_context *ctx, const ll_ensemble *ensemble) LL_CHECK_RESULT;
LL_API ll_status ll_ensemble_read_bytes(ll_ensemble **out, ll_context *ctx, const void *bytes, size_t size) LL_CHECK_RESULT;
LL_API void ll_bytes_free(void *bytes);
LL_API void ll_ensemble_free(ll_ensemble *ensemble);
LL_API int64_t ll_ensemble_samples(const ll_ensemble *ensemble);  /* S */
LL_API int64_t ll_ensemble_classes(const ll_ensemble *ensemble);  /* K */
LL_API int64_t ll_ensemble_features(const ll_ensemble *ensemble); /* D of what it takes in */
LL_API const char *ll_ensemble_method(const ll_ensemble *ensemble);
/* Of the last layer, which of a head is all there is. D is then the width of the representation. */
LL_API ll_array ll_ensemble_weight_view(const ll_ensemble *ensemble);        /* f32 [S or 1,K,D] */
LL_API ll_array ll_ensemble_bias_view(const ll_ensemble *ensemble);          /* f32 [S or 1,K] */
LL_API ll_array ll_ensemble_member_weight_view(const ll_ensemble *ensemble); /* f64 [S], how much each member counts; not normalised */
/* The provenance: what decided the numbers. */
LL_API int64_t ll_ensemble_meta_count(const ll_ensemble *ensemble);
LL_API const char *ll_ensemble_meta_key(const ll_ensemble *ensemble, int64_t i);
LL_API const char *ll_ensemble_meta_value(const ll_ensemble *ensemble, int64_t i);
/* How to read images for an ensemble of networks: its classes, its shift and scale. */
LL_API void ll_ensemble_images_init(ll_images_options *options, size_t struct_size, const ll_ensemble *ensemble);
static inline ll_images_options ll_ensemble_images(const ll_ensemble *ensemble) {
    ll_images_options options;
    ll_ensemble_images_init(&options, sizeof options, ensemble);
    return options;
}

/* ---- 10 predict ---------------------------------------------------------------------------------------------------------- */

/* Every confidence is "higher = more sure". */
typedef enum ll_confidence {
    LL_CONFIDENCE_SR,      /* the largest mean probability */
    LL_CONFIDENCE_STD,     /* minus the standard deviation over members of p(label) */
    LL_CONFIDENCE_HQ,      /* minus the entropy of the votes */
    LL_CONFIDENCE_MAXMIN,  /* minus the range over members of p(label) */
    LL_CONFIDENCE_ENTROPY, /* minus the entropy of the mean probability */
    LL_CONFIDENCE_MI,      /* minus the mutual information of label and member */
    LL_CONFIDENCE_MARGIN,  /* largest minus second largest mean probability */
    /* Scores from features, where the ensemble was fitted with `scores`; f = logits of theta*. They are about rows unlike those of
     * training, and never chosen unless asked for. docs/math/ood.md */
    LL_CONFIDENCE_MSP,       /* msp: the largest probability */
    LL_CONFIDENCE_ENERGY,    /* energy: log sum exp(f) */
    LL_CONFIDENCE_MAXLOGIT,  /* maxlogit: the largest logit */
    LL_CONFIDENCE_MDS,       /* mds: minus the squared Mahalanobis distance to the nearest class */
    LL_CONFIDENCE_MDS_UNIT,  /* mds++: the same of z/|z| */
    LL_CONFIDENCE_RMDS,      /* rmds: mds plus the squared Mahalanobis distance to the mean of all rows */
    LL_CONFIDENCE_RMDS_UNIT, /* rmds++: the same of z/|z| */
    LL_CONFIDENCE_KNN,       /* knn: minus the distance of z/|z| to the 50th nearest of a tenth of the training rows */
    LL_CONFIDENCE_VIM,       /* vim: energy minus the length outside the main directions of the training rows, in units of logits */
    LL_CONFIDENCE_COUNT
} ll_confidence;

enum { LL_CONFIDENCE_MAX = 32 }; /* room for those to come: arrays by confidence have so many places, of which the first COUNT are used */

LL_API const char *ll_confidence_name(ll_confidence c);    /* "sr", "std", ... */
LL_API ll_confidence ll_confidence_find(const char *name); /* LL_CONFIDENCE_COUNT if there is none of that name */
LL_API bool ll_confidence_needs_members(ll_confidence c);  /* true where S = 1 leaves it undefined: std hq maxmin mi */
LL_API bool ll_confidence_needs_scores(ll_confidence c);   /* true of those that only exist where the ensemble was fitted with them */
#define LL_SCORE_NAMES "msp|energy|maxlogit|mds|mds++|rmds|rmds++|knn|vim"
#define LL_CONFIDENCE_NAMES "sr|std|hq|maxmin|entropy|mi|margin|" LL_SCORE_NAMES

/* Answers for n rows; members that are NULL are not computed. Undefined confidences (S = 1, or a score that the ensemble was not fitted
 * with) are NaN. */
typedef struct ll_prediction {
    size_t struct_size;                    /* sizeof(ll_prediction), or 0: the layout of 0.2 */
    int32_t *label;                        /* [n] argmax of the mean probability */
    int32_t *vote;                         /* [n] argmax of the votes */
    double *confidence[LL_CONFIDENCE_MAX]; /* [n] each */
    double *sr_tail;                       /* [n] 1 - sr without cancellation */
    float *probs;                          /* [n,K] mean probability */
    double *running_nll, *running_brier;   /* [S] sums over rows of the first s members' scores, added to; need truth */
    int64_t *running_correct;              /* [S] */
    const int32_t *truth;                  /* [n], for the running sums and log_true */
    float *member_pmax;                    /* [n,S] */
    int32_t *member_label;                 /* [n,S] */
    double *sr_logtail;                    /* [n] log(1 - sr): ranks sr for any gap between logits */
    double *margin_logtail;                /* [n] log(1 - margin): ranks margin likewise */
    double *log_true;                      /* [n] log of the mean probability of the true class, which NLL is made of; needs truth */
    double *log_probs;                     /* [n,K] log of the mean probability, exact where f32 and f64 round it to 0 or 1 */
} ll_prediction;

typedef struct ll_predictor ll_predictor;

/* A predictor holds all the workspace: ll_predictor_run allocates nothing, so one per thread predicts forever. The ensemble and the context
 * must outlive it. */
LL_API ll_status ll_predictor_new(ll_predictor **out, ll_context *ctx, const ll_ensemble *ensemble) LL_CHECK_RESULT;
LL_API void ll_predictor_free(ll_predictor *predictor);
/* z f32 [n,D]; for networks on images the pixels, (byte - shift) * scale. `row` = index of the first row in its data set: it keys the masks
 * of MC-Dropout, so that an answer does not depend on the batch it came in; with `key content` it means nothing. The running sums come all
 * three together and with truth, each a class of [0,K). Fails on a feature that is not finite and on logits beyond f32; the sentence is the
 * predictor's own, so that threads do not share one. */
LL_API ll_status ll_predictor_run(ll_prediction *out, ll_predictor *predictor, const float *z, int64_t n, int64_t row) LL_CHECK_RESULT;
LL_API const char *ll_predictor_message(const ll_predictor *predictor); /* of its last failure; "" if none */

typedef struct ll_predict_options {
    size_t struct_size;
    bool no_probs;          /* leave out probs [N,K] */
    const char *classifier; /* "mean" (argmax of the mean) or "votes" */
    const char *by;         /* confidence that `threshold` cuts */
    double threshold;       /* NaN = no abstain array; else abstain = confidence < threshold */
    const char *members;    /* rows "0,5,10:20" whose members are kept one by one; NULL = none */
    int64_t row_offset;     /* of row 0, for MC-Dropout masks */
    int64_t block;          /* rows per block, which does not change a bit; 0 = what suits the ensemble */
    const ll_dataset *out;  /* out-of-distribution rows, answered beside the others (ll_predictions_out; in files under out_ names) */
    const ll_array *costs;  /* [K,K], cost of deciding column when row is true: label = least expected cost; NULL = none */
    const char *link;       /* of laplace: "mc" draws S logits a row; "probit" and "bridge" are closed forms, one member */
} ll_predict_options;

LL_DEFAULTS(ll_predict_options)
LL_API const ll_option *ll_predict_options_table(size_t *count);

typedef struct ll_predictions ll_predictions;

/* Predictions of all rows in memory, on all threads, with progress and cancel. They need neither ensemble nor data afterwards. Room: some
 * 90 bytes a row, and 4 K for probs. */
LL_API ll_status ll_predict(ll_predictions **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data,
                            const ll_predict_options *options) LL_CHECK_RESULT;
/* Into .npz or .csv by the extension. A table (.csv) holds what has an entry per row, and no out-of-distribution rows. */
LL_API ll_status ll_predictions_write(ll_context *ctx, const char *path, const ll_predictions *predictions) LL_CHECK_RESULT;
/* Both in one pass that streams, for predictions larger than memory: the same bytes. */
LL_API ll_status ll_predict_write(ll_context *ctx, const char *path, const ll_ensemble *ensemble, const ll_dataset *data,
                                  const ll_predict_options *options) LL_CHECK_RESULT;
/* Part `part` (1 to `parts`) of the rows of ll_predict_write, into PATH.part-I-of-N, for ll_merge. */
LL_API ll_status ll_predict_part_write(ll_context *ctx, const char *path, const ll_ensemble *ensemble, const ll_dataset *data,
                                       const ll_predict_options *options, int64_t part, int64_t parts) LL_CHECK_RESULT;

/* ---- 11 evaluate --------------------------------------------------------------------------------------------------------- */

/* What metrics are made of: n points with confidences and, for the scores, probabilities. Borrows its arrays; NULL = unknown. */
typedef struct ll_outcome {
    size_t struct_size;                          /* sizeof(ll_outcome), or 0: the layout of 0.2 */
    int64_t n, classes;                          /* N, K (0 = unknown) */
    const int32_t *label;                        /* [n] decided class */
    const int32_t *vote;                         /* [n] or NULL */
    const int32_t *truth;                        /* [n] or NULL */
    const double *confidence[LL_CONFIDENCE_MAX]; /* [n] or NULL where it does not exist */
    const double *sr_tail;                       /* [n] or NULL */
    ll_array probs;                              /* f32 or f64 [n,K]; data NULL if unknown */
    const double *sr_logtail, *margin_logtail;   /* [n] or NULL: log(1 - sr) and log(1 - margin), which rank better than these */
    const double *log_true;                      /* [n] or NULL: log p of the true class; NaN where unknown: then probs has it */
} ll_outcome;

/* A file of ll_predict_write or ll_predictions_write, which it keeps mapped. `labels` (FILE[:NAME] or NULL) replaces its own truth. */
LL_API ll_status ll_predictions_read(ll_predictions **out, ll_context *ctx, const char *path, const char *labels) LL_CHECK_RESULT;
/* Someone else's outputs: probabilities or logits, [N,K] or [S,N,K] (members). They are copied. */
LL_API ll_status ll_predictions_new(ll_predictions **out, ll_context *ctx, ll_array outputs, bool logits,
                                    const ll_array *labels) LL_CHECK_RESULT;
LL_API ll_status ll_predictions_from(ll_predictions **out, ll_context *ctx, const char *outputs, bool logits,
                                     const char *labels) LL_CHECK_RESULT;
LL_API void ll_predictions_free(ll_predictions *predictions);
LL_API const ll_outcome *ll_predictions_view(const ll_predictions *predictions); /* borrows; NULL of NULL */
/* The out-of-distribution rows beside them; borrows, NULL where there are none. */
LL_API const ll_predictions *ll_predictions_out(const ll_predictions *predictions);
/* Where they come from: the provenance of the ensemble. */
LL_API int64_t ll_predictions_meta_count(const ll_predictions *predictions);
LL_API const char *ll_predictions_meta_key(const ll_predictions *predictions, int64_t i);
LL_API const char *ll_predictions_meta_value(const ll_predictions *predictions, int64_t i);

/* Everything predictions may hold, in the order of their files: one row per array. N rows, K classes, S members, R rows chosen by
 * ll_predict_options.members. */
typedef struct ll_field {
    const char *name;
    ll_dtype dtype;    /* probs of other programs' outputs may be f64 */
    const char *shape; /* "[N]", "[N,K]", "[S,3]", "[R,S]", "[R]" */
    const char *when;  /* it is there */
    const char *meaning;
} ll_field;

LL_API size_t ll_field_count(void);
LL_API const ll_field *ll_field_get(size_t i); /* NULL behind the last */
/* One of these arrays by its name; borrows. Rank -1 where it is not there. */
LL_API ll_array ll_predictions_array(const ll_predictions *predictions, const char *name);

typedef struct ll_evaluate_options {
    size_t struct_size;
    int64_t bins;           /* m of ECE and MCE */
    const char *edges;      /* "left" [a,b), "right" (a,b], "mass" equal-mass bins */
    const char *aupr;       /* "step" or "trapezoid" */
    const char *classifier; /* "mean" or "votes" */
    const char *compat;     /* "none" or "brosse": the conventions of the paper's own code */
    const ll_array *costs;  /* [K,K], cost of deciding column when row is true: decides the class of least expected cost; NULL = 0/1 */
    double interval;        /* level of the intervals, such as 0.95; 0 = none, and no tests either */
    double risk;            /* of coverage_at_risk, and of the cut of by_class */
    uint64_t seed;          /* of what is resampled for the intervals */
    bool per_class;         /* show by_class in texts */
} ll_evaluate_options;

LL_DEFAULTS(ll_evaluate_options)
LL_API const ll_option *ll_evaluate_options_table(size_t *count);

enum { LL_BINS_MAX = 1000 };

typedef struct ll_bin {
    double lo, hi; /* of the confidence */
    int64_t n;
    double accuracy, confidence; /* means; NaN for an empty bin */
} ll_bin;

typedef struct ll_selective {
    double aurc, best, expected, worst; /* best..worst: order inside ties */
    double eaurc, augrc, failure_auroc;
    bool ties;
} ll_selective;

typedef struct ll_ood {
    double auroc, aupr_in, aupr_out, fpr95;
} ll_ood;

typedef struct ll_interval {
    double lo, hi; /* NaN = undefined */
} ll_interval;

/* Of the numbers of an evaluation that have one; docs/math/intervals.md says how each is made. */
typedef struct ll_intervals {
    ll_interval accuracy, nll, brier, ece;
    ll_interval aurc[LL_CONFIDENCE_MAX], eaurc[LL_CONFIDENCE_MAX], augrc[LL_CONFIDENCE_MAX], failure_auroc[LL_CONFIDENCE_MAX];
    ll_interval coverage_at_risk[LL_CONFIDENCE_MAX];
    ll_interval ood_auroc[LL_CONFIDENCE_MAX], ood_fpr95[LL_CONFIDENCE_MAX];
} ll_intervals;

/* One class, all points and those that the cut answers. NaN = undefined. */
typedef struct ll_class_score {
    int64_t n, decided, right;        /* points of the class, points decided to be of it, and both */
    double precision, recall;         /* right/decided, right/n */
    int64_t answered, answered_right; /* points of the class that are answered, and rightly */
    int64_t answers;                  /* answers that name the class */
    double coverage, risk;            /* answered/n, and the share of wrong ones among the answered */
} ll_class_score;

/* The options that made an evaluation. */
typedef struct ll_rules {
    int64_t bins;
    const char *edges, *aupr, *classifier, *compat; /* words of ll_evaluate_options */
    bool costs;                                     /* a matrix of costs decided the class */
    double interval, risk;
    uint64_t seed;
    bool per_class; /* texts show by_class */
} ll_rules;

/* NaN = undefined (no error, all errors, S = 1, no probabilities); nll is +inf if a true class has probability 0. JSON says null for
 * both. */
typedef struct ll_evaluation {
    int64_t n, errors, classes;
    double accuracy, nll, brier, ece, mce, cost;
    int64_t bins;
    ll_bin *bin; /* [bins] */
    ll_selective selective[LL_CONFIDENCE_MAX];
    bool has_ood;
    int64_t n_out;
    double base_rate; /* share of in-distribution points */
    ll_ood ood[LL_CONFIDENCE_MAX];
    double min_aurc; /* over sr, std, hq (compat brosse: and maxmin) */
    ll_rules rules;
    double coverage_at_risk[LL_CONFIDENCE_MAX]; /* the largest coverage with at most rules.risk of errors among the answered, 0 if none */
    ll_intervals intervals;
    double ece_p;       /* the chance of an ECE at least as large if the confidences were true */
    double l2_debiased; /* mean squared gap of the bins, less what chance adds; below 0 too */
    int64_t majority;   /* the class with most points, and the accuracy of always deciding it */
    double majority_accuracy;
    double class_cut;         /* of by_class, on sr: NaN where no cut keeps the risk, and nothing is answered */
    ll_class_score *by_class; /* [classes]; NULL where K is unknown, or the JSON that was read did not show it */
} ll_evaluation;

/* `out_points`: the outcome of out-of-distribution rows, or NULL. The evaluation is a copy: it needs neither afterwards. */
LL_API ll_status ll_evaluate(ll_evaluation **out, ll_context *ctx, const ll_outcome *points, const ll_outcome *out_points,
                             const ll_evaluate_options *options) LL_CHECK_RESULT;
LL_API void ll_evaluation_free(ll_evaluation *evaluation);

typedef enum ll_text_form { LL_TEXT_PLAIN, LL_TEXT_JSON, LL_TEXT_CSV, LL_TEXT_MARKDOWN } ll_text_form;

/* Text of others made harmless: control characters, line breaks, marks that turn the direction of writing and bytes that are not UTF-8
 * become visible (\x1b, \n, \u202e); with LL_TEXT_JSON a JSON string with its quotes. All texts and sentences of the library have gone
 * through it. As snprintf: fills at most `size` bytes of `out` (NULL where size is 0), returns the length of the whole. */
LL_API size_t ll_text_escape(char *out, size_t size, const char *text, ll_text_form form);

/* A NUL-terminated text to free with ll_text_free. */
LL_API ll_status ll_evaluation_text(char **out, ll_context *ctx, const ll_evaluation *evaluation, ll_text_form form) LL_CHECK_RESULT;
LL_API void ll_text_free(char *text);
/* Back from the JSON, every number as it was; an infinite nll is NaN then. */
LL_API ll_status ll_evaluation_read(ll_evaluation **out, ll_context *ctx, const char *path) LL_CHECK_RESULT;

/* A cut of one confidence: answer when confidence >= cut. */
typedef struct ll_threshold {
    double cut, coverage, risk;
    int64_t accepted, accepted_errors, n, errors;
    bool found; /* false: no cut reaches the risk */
} ll_threshold;

LL_API ll_status ll_threshold_at_risk(ll_threshold *out, ll_context *ctx, const ll_outcome *points, ll_confidence by,
                                      double risk) LL_CHECK_RESULT;
LL_API ll_status ll_threshold_at_coverage(ll_threshold *out, ll_context *ctx, const ll_outcome *points, ll_confidence by,
                                          double coverage) LL_CHECK_RESULT;

/* The whole curve, for plots: a point for each cut, from the surest on; the last one answers everything. Points with equal confidence are
 * one cut. */
typedef struct ll_risk_coverage ll_risk_coverage;

LL_API ll_status ll_risk_coverage_new(ll_risk_coverage **out, ll_context *ctx, const ll_outcome *points, ll_confidence by) LL_CHECK_RESULT;
LL_API void ll_risk_coverage_free(ll_risk_coverage *curve);
LL_API int64_t ll_risk_coverage_count(const ll_risk_coverage *curve);          /* C */
LL_API const double *ll_risk_coverage_cut(const ll_risk_coverage *curve);      /* [C] falling: answer when confidence >= cut */
LL_API const double *ll_risk_coverage_coverage(const ll_risk_coverage *curve); /* [C] share of the points that is answered */
LL_API const double *ll_risk_coverage_risk(const ll_risk_coverage *curve);     /* [C] share of errors among these */

/* Methods on the same rows against the first of them. */
typedef enum ll_metric {
    LL_METRIC_ACCURACY,
    LL_METRIC_NLL,
    LL_METRIC_BRIER,
    LL_METRIC_AURC,
    LL_METRIC_EAURC,
    LL_METRIC_AUGRC,
    LL_METRIC_FAILURE_AUROC,
    LL_METRIC_COVERAGE_AT_RISK,
    LL_METRIC_OOD_AUROC,
    LL_METRIC_OOD_FPR95,
    LL_METRIC_COUNT
} ll_metric;

LL_API const char *ll_metric_name(ll_metric metric); /* "accuracy", "nll", ..., "ood_fpr95"; NULL if there is none */

/* docs/math/intervals.md says how each is made. */
typedef struct ll_difference {
    double value;         /* less that of the first; NaN where one of the two has none */
    ll_interval interval; /* of the difference on the same rows, for this method alone */
    double p, p_adjusted; /* of no difference; adjusted by Holm for the number of methods */
    const char *word;     /* by p_adjusted: "better", "worse" or "within noise"; NULL where there is no test */
    bool less_is_better;
} ll_difference;

typedef struct ll_contrast ll_contrast; /* owns what it hands out */

/* `names`, `points` and `out_points` have `count` entries, at least two; out_points, or all of its entries, may be NULL. All must
 * have the same truth in the same order; that out points are the same rows is the caller's word. Metrics that rank are those of `by`. The
 * options are those of ll_evaluate, with an interval above 0, one classifier (mean), no costs and no compat. */
LL_API ll_status ll_contrast_new(ll_contrast **out, ll_context *ctx, const char *const *names, const ll_outcome *const *points,
                                 const ll_outcome *const *out_points, int64_t count, ll_confidence by,
                                 const ll_evaluate_options *options) LL_CHECK_RESULT;
LL_API void ll_contrast_free(ll_contrast *contrast);
LL_API int64_t ll_contrast_count(const ll_contrast *contrast);
LL_API ll_confidence ll_contrast_by(const ll_contrast *contrast);
LL_API const char *ll_contrast_name(const ll_contrast *contrast, int64_t i);                /* NULL behind the last */
LL_API const ll_evaluation *ll_contrast_evaluation(const ll_contrast *contrast, int64_t i); /* NULL behind the last */
/* Of method i >= 1 to the first; NULL where there is none. */
LL_API const ll_difference *ll_contrast_difference(const ll_contrast *contrast, int64_t i, ll_metric metric);
LL_API ll_status ll_contrast_text(char **out, ll_context *ctx, const ll_contrast *contrast, ll_text_form form) LL_CHECK_RESULT;

typedef struct ll_compare_options {
    size_t struct_size;
    double risk;               /* of the coverage that chooses and of the cut; NaN = AURC(sr) chooses, and the cut is for 0.01 */
    const char *predictions;   /* a folder that gets each method's predictions, METHOD.npz; NULL = none */
    const char *members;       /* rows whose members these files keep one by one, as in ll_predict_options; NULL = none */
    const ll_dataset *out;     /* out-of-distribution rows: adds their metrics; NULL = none */
    const ll_fit_options *fit; /* its method is not read; samples and epochs 0 = each method's defaults; NULL = defaults */
    const char *protocol;      /* "honest": rows that choose are not rows that report; "paper": the test rows do both */
    const ll_dataset *choose;  /* rows that choose, with labels; NULL = a half of the test rows, drawn by the seed of `fit` */
    const char *temperature;   /* rows with a temperature beside those without: of "point", of "all" methods, of "none" */
    double interval;           /* level of intervals and tests, in (0,1) */
    const char *methods;       /* "default"; "all" that apply; or names as ll_compare_name has them, with commas; point is always there */
} ll_compare_options;

typedef struct ll_compare_row {
    const char *method;
    int64_t samples;
    bool diverged;
    double seconds_fit, seconds_predict;
    const ll_evaluation *evaluation;           /* of the reporting rows; of a method that diverged: zeros */
    ll_threshold threshold[LL_CONFIDENCE_MAX]; /* cuts found on the choosing rows, measured on the reporting rows */
    double temperature;                        /* fitted on the choosing rows; NaN = probabilities as the method has them */
    const char *name;                          /* as ll_compare_name: the method's, or another where an option was added to it */
    const char *group;                         /* of ll_method_info; rows of a group stand together */
    double seconds_per_thousand;               /* of predicting the test rows, with the threads of ctx */
    int64_t bytes;                             /* of the arrays that a file of this ensemble holds, without scores from features */
} ll_compare_row;

/* The one to take: the simplest whose criterion, on the choosing rows, is within noise of the best. */
typedef struct ll_recommendation {
    int64_t row, best;     /* of ll_comparison_row */
    const char *criterion; /* "coverage_at_risk", by sr, or "aurc_sr" */
    double value, best_value;
    double difference; /* to the best, paired; 0 without an interval where row is best */
    ll_interval interval;
    int64_t n;      /* choosing rows */
    bool same_rows; /* they report too: the protocol is paper */
} ll_recommendation;

typedef struct ll_comparison ll_comparison; /* owns its rows */

LL_DEFAULTS(ll_compare_options)
LL_API const ll_option *ll_compare_options_table(size_t *count); /* of its numbers and words; predictions and members are files */
LL_API const char *ll_compare_name(size_t i);                    /* what a row may be, in the order of the table; NULL behind the last */
/* The methods that start at theta* side by side (all but ensemble): fits on `train`, evaluates on `test`. */
LL_API ll_status ll_compare(ll_comparison **out, ll_context *ctx, const ll_dataset *train, const ll_dataset *test, const ll_head *head,
                            const ll_compare_options *options) LL_CHECK_RESULT;
/* The same for a whole network on images; rows of `train` that it held out are left out. */
LL_API ll_status ll_compare_network(ll_comparison **out, ll_context *ctx, const ll_dataset *train, const ll_dataset *test,
                                    const ll_network *network, const ll_compare_options *options) LL_CHECK_RESULT;
LL_API void ll_comparison_free(ll_comparison *comparison);
LL_API int64_t ll_comparison_count(const ll_comparison *comparison);
LL_API const ll_compare_row *ll_comparison_row(const ll_comparison *comparison, int64_t i);    /* NULL behind the last */
LL_API const ll_recommendation *ll_comparison_recommendation(const ll_comparison *comparison); /* NULL: every method diverged */
LL_API ll_status ll_comparison_text(char **out, ll_context *ctx, const ll_comparison *comparison, ll_text_form form) LL_CHECK_RESULT;

/* ---- 12 report ----------------------------------------------------------------------------------------------------------- */

typedef enum ll_report_kind {
    LL_REPORT_PREDICTIONS, /* a file of ll_predict_write; the store of a search: each method's best; the JSON of an evaluation:
                            * its numbers; an ensemble: only its provenance */
    LL_REPORT_PROBS,       /* FILE or FILE:NAME of someone else's probabilities, [N,K] or [S,N,K] */
    LL_REPORT_LOGITS
} ll_report_kind;

typedef struct ll_report_input {
    size_t struct_size; /* sizeof(ll_report_input) in each of the inputs, or 0 in each: the layout of 0.2 */
    ll_report_kind kind;
    const char *file;
    const char *name; /* NULL = the method named in the file, else the name of the file */
    const char *ood;  /* the same kind of file for out-of-distribution points; NULL = those that predictions hold, if any */
    const ll_predictions *predictions; /* with true labels, in memory, instead of `file`; NULL = the file */
} ll_report_input;

typedef struct ll_report_options {
    size_t struct_size;
    const char *title;
    const char *labels;            /* FILE[:NAME] of the true labels; NULL = those of the predictions */
    const char *class_names;       /* a text file, one name per line; NULL = numbers */
    const char *images;            /* FILE[:NAME], u8 [N,H,W] or [N,H,W,3]; NULL = none */
    const char *command;           /* shown as what made the page; NULL = nothing */
    const char *certificate;       /* what certify printed as JSON for the first method; NULL = none */
    const char *const *class_list; /* [class_count] names, instead of the file `class_names`; NULL = none */
    int64_t class_count;
    const ll_array *image_array; /* u8 [N,H,W] or [N,H,W,3], instead of the file `images`; NULL = none */
} ll_report_options;

LL_DEFAULTS(ll_report_options)
LL_API const ll_option *ll_report_options_table(size_t *count);
/* One self-contained HTML page, methods side by side; it asks the network for nothing. At most 16 inputs. *out ends with a NUL behind its
 * *size bytes (`size` may be NULL); free it with ll_text_free. */
LL_API ll_status ll_report(char **out, size_t *size, ll_context *ctx, const ll_report_input *inputs, int64_t count,
                           const ll_report_options *options) LL_CHECK_RESULT;
/* The same page as a file. */
LL_API ll_status ll_report_write(ll_context *ctx, const char *path, const ll_report_input *inputs, int64_t count,
                                 const ll_report_options *options) LL_CHECK_RESULT;

/* ---- 13 search ----------------------------------------------------------------------------------------------------------- */

/* The grid: lists of numbers or words with commas between them. After a slash stands what holds for one method only:
 * samples "10,100,1000/bootstrap:10,100". Methods take from each list what they read; equal trials are one. NULL = the value of `fit`. */
typedef struct ll_search_options {
    size_t struct_size;
    const char *method, *samples, *lr /* also auto */, *batch_size, *epochs, *dropout;
    /* What all trials have in common; its method is not read, nor what has a list above. Its seed also splits the test rows, where no
     * validation rows are given. NULL = defaults */
    const ll_fit_options *fit;
    const char *protocol; /* "honest": validation rows choose, others report; "paper": the test set does both */
    const char *by;       /* "aurc": least AURC of sr and std; "aurc-hq": also of hq; "auroc": largest AUROC of sr and std (paper only) */
} ll_search_options;

LL_DEFAULTS(ll_search_options)
LL_API const ll_option *ll_search_options_table(size_t *count);

typedef struct ll_search_data {
    size_t struct_size; /* sizeof(ll_search_data), or 0: the layout of 0.2 */
    const ll_dataset *train;
    const ll_dataset *val; /* unseen by the representation; NULL: half of the test rows choose, the other half reports, by the seed */
    const ll_dataset *test;
    const ll_dataset *out; /* out-of-distribution rows, or NULL; they never choose in the honest protocol */
    const ll_head *head;   /* theta*; NULL = what options->fit->layers asks for */
    /* Instead of a head: the methods on all of its layers; the others are images. Its held-out rows are val, unless given. */
    const ll_network *network;
} ll_search_data;

/* Runs what the store does not hold yet. Trials that differ in S only share one run, whose first members they are. Every finished trial
 * is a line of STORE/runs.jsonl, flushed to disk: after a kill the same call goes on. A trial that diverges is finished too. Another
 * process in the same store, and a store of other data, are refused. */
LL_API ll_status ll_search(ll_context *ctx, const char *store, const ll_search_data *data,
                           const ll_search_options *options) LL_CHECK_RESULT;
/* Part `part` (1 to `parts`) of the same, whole runs, in the store STORE.part-I-of-N; ll_merge makes STORE, with all trials, of them. */
LL_API ll_status ll_search_part(ll_context *ctx, const char *store, const ll_search_data *data, const ll_search_options *options,
                                int64_t part, int64_t parts) LL_CHECK_RESULT;

typedef enum ll_split {
    LL_SPLIT_VAL,  /* the rows that choose in the honest protocol */
    LL_SPLIT_TEST, /* the rows that report in it */
    LL_SPLIT_ALL,  /* all rows of the test set: the same as TEST when validation rows were given */
    LL_SPLIT_COUNT
} ll_split;

LL_API const char *ll_split_name(ll_split split); /* "val", "test", "all" */

/* What is kept of an evaluation. NaN = undefined. */
typedef struct ll_score {
    int64_t n, errors;
    double accuracy, nll, brier, ece, mce;
    double aurc[LL_CONFIDENCE_MAX];
    double auroc[LL_CONFIDENCE_MAX], aupr_in[LL_CONFIDENCE_MAX], aupr_out[LL_CONFIDENCE_MAX], fpr95[LL_CONFIDENCE_MAX];
} ll_score;

typedef struct ll_trial {
    const char *name, *run, *method;
    int64_t samples, batch_size, epochs; /* 0 where the method does not read it */
    double lr, dropout;                  /* likewise NaN */
    bool diverged;                       /* then there are no scores */
    double seconds;                      /* its share of the run, and its predictions */
    ll_score score[LL_SPLIT_COUNT];
} ll_trial;

typedef struct ll_results ll_results; /* the finished trials of a store */

/* A damaged line is reported through the log, with its number, and skipped. */
LL_API ll_status ll_results_read(ll_results **out, ll_context *ctx, const char *store) LL_CHECK_RESULT;
LL_API void ll_results_free(ll_results *results);
LL_API int64_t ll_results_count(const ll_results *results);
LL_API const ll_trial *ll_results_trial(const ll_results *results, int64_t i); /* borrows; ordered by method and options */
/* The trial that a protocol chooses by a rule (words as in ll_search_options), of one method or of all (NULL); -1 if there is none. */
LL_API int64_t ll_results_best(const ll_results *results, const char *method, const char *protocol, const char *by);
/* All trials, the best first, each method's best marked. */
LL_API ll_status ll_results_text(char **out, ll_context *ctx, const ll_results *results, const char *protocol, const char *by,
                                 ll_text_form form) LL_CHECK_RESULT;

/* ---- 14 calibrate -------------------------------------------------------------------------------------------------------- */

/* p = softmax(scale o log p_hat + shift), fitted to the true classes of rows that training did not see. With a temperature T all scales are
 * 1/T and there is no shift: labels stay. docs/math/temperature.md */
typedef struct ll_calibration ll_calibration;

typedef struct ll_calibrate_options {
    size_t struct_size;
    const char *kind; /* "temperature"; "bias": also a shift for each class; "vector": a scale and a shift for each class */
    bool force;       /* also on rows of the training, and bias or vector with fewer than 50 rows per class on average */
} ll_calibrate_options;

LL_DEFAULTS(ll_calibrate_options)
LL_API const ll_option *ll_calibrate_options_table(size_t *count);

typedef struct ll_calibration_info {
    const char *kind;
    int64_t n, classes;
    bool found;               /* false: there is no best temperature, and it stays 1; a warning said why */
    double temperature;       /* of bias and vector: where their search began */
    double temperature_error; /* standard error; NaN if unknown */
    double nll_before, nll;   /* on these rows */
} ll_calibration_info;

/* The members are pooled first, then calibrated. A calibration that the ensemble already has does not count. */
LL_API ll_status ll_calibrate(ll_calibration **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data,
                              const ll_calibrate_options *options) LL_CHECK_RESULT;
/* The same of someone else's probabilities or logits, [N,K] or [S,N,K]. */
LL_API ll_status ll_calibrate_outputs(ll_calibration **out, ll_context *ctx, ll_array outputs, bool logits, const ll_array *labels,
                                      const ll_calibrate_options *options) LL_CHECK_RESULT;
LL_API void ll_calibration_free(ll_calibration *calibration);
LL_API const ll_calibration_info *ll_calibration_view(const ll_calibration *calibration);
LL_API ll_array ll_calibration_parameters(const ll_calibration *calibration); /* f64 [2,K]: scale, shift */
LL_API ll_status ll_calibration_text(char **out, ll_context *ctx, const ll_calibration *calibration, ll_text_form form) LL_CHECK_RESULT;

/* Calibrated log-probabilities [N,K] of someone else's outputs: they can be given as logits to other calls and programs. */
LL_API ll_status ll_calibration_apply(double *log_probs, ll_context *ctx, const ll_calibration *calibration, ll_array outputs,
                                      bool logits) LL_CHECK_RESULT;

/* From now on predictions of this ensemble are calibrated, and ll_ensemble_write stores it; NULL removes it. A certificate is removed, with
 * a warning. Not while a predictor of the ensemble exists. */
LL_API ll_status ll_ensemble_set_calibration(ll_context *ctx, ll_ensemble *ensemble, const ll_calibration *calibration) LL_CHECK_RESULT;
LL_API const char *ll_ensemble_calibration(const ll_ensemble *ensemble); /* its kind; NULL if there is none */

/* ---- 15 certify ---------------------------------------------------------------------------------------------------------- */

/* A cut with a promise, tested on rows that did not propose it: "with probability at least `confidence` over the calibration rows, at most
 * `risk` of the answered new points are wrong". With costs: "the answered new points cost at most `risk` on average". With per_class there
 * is a cut for each decided class, and the promise is one for each. docs/math/certificates.md */
typedef struct ll_certificate ll_certificate;

typedef struct ll_certify_options {
    size_t struct_size;
    double risk, coverage, out_rate; /* what is promised; NaN = not; several share 1 - confidence equally */
    double confidence;
    const char *by;   /* the confidence that is cut */
    const char *rule; /* "sequence" or "bonferroni" */
    uint64_t seed;    /* of the third of the rows that proposes cuts */
    /* [K,K], cost of deciding column when row is true: answers are the classes of least expected cost, and risk is a mean cost; NULL = none
     */
    const ll_array *costs;
    bool per_class; /* a cut for each decided class, each tested at (1 - confidence)/K; with risk alone */
} ll_certify_options;

LL_DEFAULTS(ll_certify_options)
LL_API const ll_option *ll_certify_options_table(size_t *count);

typedef struct ll_certificate_info {
    bool certified; /* false: no cut passed, and the numbers of the cut are NaN or 0 */
    double cut;     /* answer when confidence >= cut */
    ll_confidence by;
    double risk, coverage, out_rate, confidence; /* as asked */
    int64_t n, n_out;                            /* testing rows */
    int64_t accepted, errors, accepted_out;      /* among them, at the cut */
    double p_value, bound;                       /* bound: of the risk at this cut, shown and not promised */
    int64_t needed;                              /* answered rows without an error that the risk needs at least; 0 without a risk */
    double mean_cost;                            /* of the accepted rows, with costs; else NaN */
    int64_t classes; /* with per_class K: then there is no one cut or bound, the counts are sums over the classes,
                        and p_value is the largest; else 0 */
} ll_certificate_info;

/* `out_points`: out-of-distribution rows for out_rate, or NULL. */
LL_API ll_status ll_certify(ll_certificate **out, ll_context *ctx, const ll_outcome *points, const ll_outcome *out_points,
                            const ll_certify_options *options) LL_CHECK_RESULT;
LL_API void ll_certificate_free(ll_certificate *certificate);
LL_API const ll_certificate_info *ll_certificate_view(const ll_certificate *certificate);
/* With per_class: the cut of a decided class. A class that is not certified is never answered. NULL: there is no such class. */
LL_API const ll_certificate_info *ll_certificate_class(const ll_certificate *certificate, int64_t k);
LL_API ll_status ll_certificate_text(char **out, ll_context *ctx, const ll_certificate *certificate, ll_text_form form) LL_CHECK_RESULT;
LL_API ll_status ll_certificate_write(ll_context *ctx, const char *path, const ll_certificate *certificate) LL_CHECK_RESULT; /* its JSON */

/* ll_certify of predictions, which know the rows and the ensemble they were made of: these go into the certificate, and the rows of the
 * ensemble's own calibration are refused. */
LL_API ll_status ll_certify_predictions(ll_certificate **out, ll_context *ctx, const ll_predictions *points,
                                        const ll_predictions *out_points, const ll_certify_options *options) LL_CHECK_RESULT;
/* Makes the certificate of a file again from its rows, by the same functions, and compares hashes, counts, cut, p-value and bound. *out:
 * what matches and what does not. *holds: all of it, and it certifies. */
LL_API ll_status ll_certificate_verify(char **out, bool *holds, ll_context *ctx, const char *path, const ll_predictions *points,
                                       const ll_predictions *out_points) LL_CHECK_RESULT;
/* Puts the certificate into the ensemble it was made of (ll_certify_predictions); others are refused. Predictions of the ensemble then have
 * abstain and answer by its cut. Counts how often its rows were used, also where none is certified, and writes it into the certificate. Not
 * while a predictor of the ensemble exists. */
LL_API ll_status ll_ensemble_set_certificate(ll_context *ctx, ll_ensemble *ensemble, ll_certificate *certificate) LL_CHECK_RESULT;
LL_API const char *ll_ensemble_certificate(const ll_ensemble *ensemble); /* its JSON; NULL if there is none */
LL_API const char *ll_ensemble_promise(const ll_ensemble *ensemble);     /* in words; NULL if there is none */
/* Names of the classes from a text file, one per line, which ll_ensemble_write stores. */
LL_API ll_status ll_ensemble_set_class_names(ll_context *ctx, ll_ensemble *ensemble, const char *path) LL_CHECK_RESULT;
/* The same from memory: K names of one line each. */
LL_API ll_status ll_ensemble_set_class_list(ll_context *ctx, ll_ensemble *ensemble, const char *const *names,
                                            int64_t count) LL_CHECK_RESULT;
/* A table of row, label, name of the class, the confidence `by` (LL_CONFIDENCE_COUNT: that of the certificate, else sr), and with a cut the
 * answer: a name or "unknown". */
LL_API ll_status ll_answers_text(char **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_predictions *predictions,
                                 ll_confidence by) LL_CHECK_RESULT;

/* ---- 16 sets ------------------------------------------------------------------------------------------------------------- */

/* In place of one label, a set of classes that holds the true one with probability at least 1 - alpha, for new points exchangeable with the
 * calibration rows (split conformal prediction). docs/math/conformal.md */
typedef struct ll_set_rule ll_set_rule; /* when a class is in */

typedef struct ll_sets_options {
    size_t struct_size;
    double alpha;      /* the share of sets that may miss the true class, in (0,1) */
    const char *score; /* "lac", "aps" or "raps" */
    double confidence; /* NaN: alpha holds on average over calibration rows; else with this probability for those at hand */
    bool by_class;     /* a quantile for each class: alpha holds for each true class */
    bool allow_empty;  /* also sets without a class; else the most probable one is always in */
    uint64_t seed;     /* of the random part of aps and raps */
} ll_sets_options;

LL_DEFAULTS(ll_sets_options)
LL_API const ll_option *ll_sets_options_table(size_t *count);

typedef struct ll_set_rule_info {
    double alpha, confidence; /* as asked, like the words and flags below */
    const char *score;
    bool by_class, allow_empty;
    uint64_t seed;
    int64_t n, classes;           /* calibration rows, K */
    int64_t needed;               /* rows that a finite quantile needs; with by_class of each class */
    int64_t rank;                 /* the quantile is the rank-th smallest score; n + 1: infinite */
    double quantile;              /* a class is in when its score is at most this */
    const double *class_quantile; /* [K] the same for each class: its own with by_class, else that of all rows */
    const int64_t *class_n;       /* [K] calibration rows of each class */
    const bool *class_few;        /* [K] by_class: too few rows, and the quantile of all rows stands in, without a promise for the class */
} ll_set_rule_info;

/* `points` with probs and truth. Too few rows are no failure: the quantile is infinite, all classes are in, and a warning says so. */
LL_API ll_status ll_set_rule_fit(ll_set_rule **out, ll_context *ctx, const ll_outcome *points,
                                 const ll_sets_options *options) LL_CHECK_RESULT;
LL_API void ll_set_rule_free(ll_set_rule *rule);
LL_API const ll_set_rule_info *ll_set_rule_view(const ll_set_rule *rule);

typedef struct ll_sets ll_sets;

typedef struct ll_sets_info {
    int64_t n, classes;
    int64_t bytes;       /* of a set, ceil(K/8) */
    const uint8_t *set;  /* [n,bytes] bit k % 8 of byte k / 8: class k is in */
    const int32_t *size; /* [n] */
    double mean_size;
    const int64_t *size_n; /* [K+1] sets of 0, 1, ..., K classes */
    int64_t covered;       /* sets that hold the true class; this and the rest only where truth is known, else 0, NaN, NULL */
    double coverage;
    ll_interval interval;                   /* of coverage, 95 %, Wilson */
    const int64_t *size_covered;            /* [K+1] */
    const int64_t *class_n, *class_covered; /* [K] by true class */
} ll_sets_info;

/* The sets of new points, with probs. `row` is the number of the first of them: aps and raps draw by row. */
LL_API ll_status ll_sets_new(ll_sets **out, ll_context *ctx, const ll_set_rule *rule, const ll_outcome *points,
                             int64_t row) LL_CHECK_RESULT;
LL_API void ll_sets_free(ll_sets *sets);
LL_API const ll_sets_info *ll_sets_view(const ll_sets *sets);
/* The rule and how its sets did; LL_TEXT_PLAIN or LL_TEXT_JSON. */
LL_API ll_status ll_sets_text(char **out, ll_context *ctx, const ll_set_rule *rule, const ll_sets *sets, ll_text_form form) LL_CHECK_RESULT;
/* .csv: a line per row, its size and its classes; else arrays `set` and `set_size` with the rule in the metadata, .npz or .safetensors. */
LL_API ll_status ll_sets_write(ll_context *ctx, const char *path, const ll_set_rule *rule, const ll_sets *sets) LL_CHECK_RESULT;

/* ---- 17 diagnose --------------------------------------------------------------------------------------------------------- */

/* Whether the chains of an ensemble have mixed, judged by the probability that each member gives to the label of all, on the rows that are
 * hardest to decide. docs/math/diagnostics.md */
typedef struct ll_diagnosis ll_diagnosis;

typedef struct ll_diagnosis_info {
    const char *method;
    int64_t members, chains;        /* S, and the chains they are from, one after the other */
    int64_t rows, among;            /* the rows of smallest margin, and how many they were chosen among */
    double rhat_limit;              /* what independent draws exceed once in a hundred times, at least 1.01 */
    int64_t above;                  /* rows whose R-hat is above it */
    double rhat_median, rhat_most;  /* of the rows; NaN where there is one chain */
    double bulk_median, bulk_least; /* independent draws that the members are worth: for means */
    double tail_median, tail_least; /* and for the ends of an interval; NaN where all members say the same */
    bool apart;                     /* more than 5 % of the rows are above the limit: the chains have not met */
    bool repeating;                 /* the median of bulk is below S/4: members repeat each other */
} ll_diagnosis_info;

/* For methods with chains; features of any rows, best unseen ones. LL_ERR_USAGE where members have no order, or a chain has fewer than 16.
 */
LL_API ll_status ll_diagnose(ll_diagnosis **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data) LL_CHECK_RESULT;
LL_API void ll_diagnosis_free(ll_diagnosis *diagnosis);
LL_API const ll_diagnosis_info *ll_diagnosis_view(const ll_diagnosis *diagnosis);
/* "row" [rows], "rhat", "bulk", "tail" [rows], "draws" [rows,S]; borrows. Rank -1: there is no such array. */
LL_API ll_array ll_diagnosis_array(const ll_diagnosis *diagnosis, const char *name);
/* LL_TEXT_PLAIN, or LL_TEXT_JSON with the numbers of each row and the draws of the worst three. */
LL_API ll_status ll_diagnosis_text(char **out, ll_context *ctx, const ll_diagnosis *diagnosis, ll_text_form form) LL_CHECK_RESULT;
/* Keeps the diagnosis in the ensemble it is of: ll_ensemble_write stores it, and a page that is given the ensemble draws its chains. */
LL_API ll_status ll_ensemble_set_diagnosis(ll_context *ctx, ll_ensemble *ensemble, const ll_diagnosis *diagnosis) LL_CHECK_RESULT;
LL_API const char *ll_ensemble_diagnosis(const ll_ensemble *ensemble); /* its JSON; NULL if there is none */

#ifdef __cplusplus
}
#endif
#endif
