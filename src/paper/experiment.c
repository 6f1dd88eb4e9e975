/* SPDX-License-Identifier: MIT */
/* The table of experiments. */
#include "paper/experiment.h"

#include <string.h>

#define SAMPLES "10,100,1000/bootstrap:10,100"
#define FEWER_SAMPLES "10,100/bootstrap:10" /* of 345 classes: a tenth of the epochs, minutes instead of hours */
#define EPOCHS "bootstrap:10/dropout:100"
#define RATES "0.1,0.3,0.5"
#define CIFAR_LR "0.01,0.005,0.001,0.0005,0.0001,0.00005,0.00001"

/* The members of the full-network bootstrap are 20 where the paper has 100: each is a whole training. */
#define FULL(lr) \
    { lr, "100/bootstrap:20", EPOCHS, RATES }

static const lli_experiment table[] = {
    {"mnist",
     "mlp:512,20",
     0,
     "first:5",
     "32",
     1,
     {"0.1,0.05,0.01,0.005,0.001", SAMPLES, EPOCHS, RATES},
     FULL("0.1,0.01,0.001,0.0001"),
     NULL},
    {"fashion",
     "mlp:512,20",
     0,
     "first:5",
     "32",
     1,
     {"0.1,0.05,0.01,0.005,0.001", SAMPLES, EPOCHS, RATES},
     FULL("0.1,0.01,0.001,0.0001"),
     NULL},
    {"quickdraw",
     "mlp:512,128",
     0,
     "first:172",
     "32",
     1,
     {"0.1,0.05,0.01,0.005,0.001", FEWER_SAMPLES, EPOCHS, RATES},
     FULL("0.1,0.01,0.001,0.0001"),
     NULL},
    {"cifar10", "vgg16", 0, "first:5", "128", 1, {CIFAR_LR, SAMPLES, EPOCHS, RATES}, FULL("0.01,0.001,0.0001,0.00001"), NULL},
    {"cifar100",
     "vgg16",
     0,
     "first:50",
     "128",
     1,
     {CIFAR_LR, SAMPLES, EPOCHS, RATES},
     FULL("0.01,0.001,0.0001,0.00001"),
     "train.bin and test.bin of the binary version of CIFAR-100, in data/cifar100 or $LASTLAYER_DATA/cifar100 (or any folder, with "
     "`data`); or features with `features`"},
    {"imagenet",
     NULL,
     0,
     NULL,
     "512",
     3,
     {"0.1,0.01,0.001,0.0001", "10", "10", RATES},
     {NULL, NULL, NULL, NULL},
     "`features FILE`, an .npz with features_train [N,D], labels_train, features_test and labels_test (the paper: NASNet, D = 4032; any D "
     "will do), and where "
     "they exist features_val, labels_val, W [K,D] and b of the last layer"},
    {"clinc150",
     NULL,
     0,
     NULL,
     "32",
     1,
     {"0.1,0.05,0.01,0.005,0.001", SAMPLES, EPOCHS, RATES},
     {NULL, NULL, NULL, NULL},
     "`features FILE`, an .npz with features_train, labels_train, features_val, labels_val, features_test, labels_test and features_out, "
     "the "
     "out-of-scope questions"},
};

/* A short version: every step of the way, on small grids and briefly trained networks. */
static void shorten(lli_experiment *e) {
    e->epochs = 1;
    if (e->net && strcmp(e->net, "vgg16") == 0)
        e->net = "vgg16:width=0.125";
    e->last = (lli_experiment_grid){e->layers > 1 ? "0.01" : "0.05,0.005", e->layers > 1 ? "5" : "5,20/bootstrap:5", "2", "0.3"};
    if (e->full.lr)
        e->full = (lli_experiment_grid){"0.01", "3/bootstrap:2", "1", "0.3"};
}

ll_status lli_experiment_find(lli_experiment *out, ll_context *ctx, const char *name, bool quick) {
    for (size_t i = 0; i < LLI_COUNT(table); i++)
        if (strcmp(table[i].name, name) == 0) {
            *out = table[i];
            if (quick)
                shorten(out);
            return LL_OK;
        }
    return lli_fail(ctx, LL_ERR_USAGE,
                    "there is no experiment %.40s; expected mnist, fashion, quickdraw, cifar10, cifar100, imagenet or clinc150", name);
}
