/* SPDX-License-Identifier: MIT */
/* A method turns (model, dataset, theta*) into members. A method is its row, an lli_method: one file that defines it, and its name in
 * LLI_METHODS. Nothing else knows a method by its name: what differs between methods is a member of the row. */
#ifndef LLI_METHODS_METHOD_H
#define LLI_METHODS_METHOD_H

#include "methods/fit.h"

/* Every method, in the order of tables and of help; a new one is a line. */
/* clang-format off */
#define LLI_METHODS(row) \
    row(point) \
    row(map) \
    row(laplace) \
    row(sgd) \
    row(sgld) \
    row(sghmc) \
    row(cyclical) \
    row(psgld) \
    row(swag) \
    row(hmc) \
    row(bootstrap) \
    row(dropout) \
    row(ensemble)
/* clang-format on */

/* What theta* may be, and so where a method applies. */
typedef enum lli_place {
    LLI_PLACE_HEAD = 1,      /* one layer on features */
    LLI_PLACE_DEEP_HEAD = 2, /* several layers on features */
    LLI_PLACE_NETWORK = 4    /* a whole network */
} lli_place;

enum { LLI_PLACES_ALL = LLI_PLACE_HEAD | LLI_PLACE_DEEP_HEAD | LLI_PLACE_NETWORK };

/* What a method needs besides theta* and the rows. */
enum {
    LLI_NEEDS_RESAMPLE = 1,    /* the chain of a task visits rows drawn with replacement */
    LLI_NEEDS_RECIPE = 2,      /* how the network was trained, to train others in the same way */
    LLI_NEEDS_OTHER_START = 4, /* a theta* that is not the MAP already, to be worth comparing */
    LLI_NEEDS_TIME = 8,        /* thousands of passes over all rows: not in the default set of compare */
    LLI_NEEDS_NAMING = 16      /* that somebody asks for it: not in that set either */
};

/* How members exist. */
typedef enum lli_members_kind {
    LLI_MEMBERS_STORED, /* each is a parameter vector in the file */
    LLI_MEMBERS_MASKS,  /* one vector is stored, each is a pass under masks at prediction */
    LLI_MEMBERS_DRAWS   /* one vector is stored, and a Gaussian around it whose draws they are */
} lli_members_kind;

/* What kind of members: groups of the table of compare, in its order. */
#define LLI_GROUP_POINT "point"
#define LLI_GROUP_ENSEMBLES "ensembles"
#define LLI_GROUP_GAUSSIAN "Gaussian"
#define LLI_GROUP_SAMPLERS "samplers"
enum { LLI_GROUPS = 4 };
extern const char *const lli_method_groups[LLI_GROUPS];

/* The method with one more option, as a row of its own in compare. */
typedef struct lli_variant {
    const char *name;  /* "sgld-kfac" */
    size_t option;     /* LLI_READS(..) */
    const char *value; /* of a choice; NULL: the option is a flag */
    unsigned places;   /* lli_place, together */
    int simplicity;    /* as below */
} lli_variant;

bool lli_method_variant_is_set(const lli_variant *variant, const ll_fit_options *options);
void lli_method_variant_set(const lli_variant *variant, ll_fit_options *options);

/* Above it the eigenvectors of a matrix [K,K] take hours. */
enum { LLI_METHOD_CLASSES_MAX = 16384 };

/* A member of ll_fit_options that the method reads. */
#define LLI_READS(member) offsetof(ll_fit_options, member)
/* What every method with chains of sgd steps reads. */
#define LLI_READS_CHAINS                                                                                                     \
    LLI_READS(samples), LLI_READS(lr), LLI_READS(batch_size), LLI_READS(prior_precision), LLI_READS(seed), LLI_READS(lr_t0), \
        LLI_READS(lr_power), LLI_READS(shuffle)

typedef struct lli_method {
    ll_method_info info;         /* name, summary, default S and epochs, group */
    const size_t *reads;         /* LLI_READS(..), .. of the options it reads, ended by 0 */
    unsigned places;             /* lli_place, together */
    unsigned needs;              /* LLI_NEEDS_.., together */
    int simplicity;              /* of methods that compare cannot tell apart it recommends the one with most; 0 = least */
    const lli_variant *variants; /* ended by one without a name; NULL: there are none */
    lli_members_kind members;
    double lr_factor;               /* of the learning rate that is chosen where none is given; 0 = 1 */
    int cycles;                     /* of the learning rate, at most, with members from the last fifth of each; 0 = none */
    const lli_optimiser *optimiser; /* the steps of its chains; NULL: those of the recipe, or it has no chains */
    /* Of a head of K classes on D features, before theta* is looked for: refuses what cannot be done there. NULL: all can. */
    ll_status (*check)(ll_context *ctx, const ll_fit_options *options, int64_t K, int64_t D);
    double (*weight)(const lli_fit *fit, int64_t member); /* NULL: all weigh 1 */
    /* Of draws: the factors of the Gaussian, once, before the run. */
    ll_status (*gaussian)(ll_context *ctx, lli_gaussian *out, const ll_fit_options *options, const ll_dataset *data,
                          const lli_theta_star *star);
    int64_t (*state_floats)(const lli_theta_star *star); /* of a checkpoint; NULL: theta and the slots of the rule */
    int64_t (*tasks)(const ll_fit_options *options);     /* independent pieces of work */
    int64_t (*steps)(const lli_fit *fit);                /* in all, for progress */
    /* Makes fit->prepared, once, before the tasks, which share it; release frees it, also where prepare failed half way. NULL: there is
     * nothing to make. */
    ll_status (*prepare)(ll_context *ctx, lli_fit *fit);
    void (*release)(lli_fit *fit);
    /* One task, by any worker: lli_fit_save for each of its members. It may depend on (seed, task), on nothing else. */
    ll_status (*run)(ll_context *ctx, lli_fit *fit, int64_t task, int worker);
    void (*tell)(ll_context *ctx, lli_fit *fit); /* after the tasks of a fit: notes and warnings; NULL: there are none */
} lli_method;

#define LLI_METHOD_DECLARE(name) extern const lli_method lli_method_##name;
LLI_METHODS(LLI_METHOD_DECLARE)
#undef LLI_METHOD_DECLARE

/* Of a theta* that is a network, or will be: one that was given, or the layers of the options on features. */
static inline lli_place lli_place_of(bool network, int64_t layers) {
    return !network ? LLI_PLACE_HEAD : layers > 1 ? LLI_PLACE_DEEP_HEAD : LLI_PLACE_NETWORK;
}

const lli_method *lli_method_find(const char *name); /* NULL if there is none */
bool lli_method_trains(const lli_method *method);    /* by chains, which may diverge */
bool lli_method_reads(const lli_method *method, size_t option /* LLI_READS(..) */);
ll_status lli_method_check(ll_context *ctx, const lli_method *method, lli_place place) LL_CHECK_RESULT; /* LL_ERR_USAGE: not there */

int64_t lli_method_one(const ll_fit_options *options);
int64_t lli_method_all(const ll_fit_options *options); /* S */
int64_t lli_method_chains(const ll_fit_options *options);

#endif
