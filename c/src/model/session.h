/* What a model keeps from pass to pass, and what a pass has to compute anew. */
#ifndef MH_SESSION_H
#define MH_SESSION_H

#include "model/model.h"
#include "ops/kept_rows.h"

#include <stdbool.h>

struct mh_session {
    const mh_model *model;       /* borrowed */
    size_t capacity;             /* P, tokens there is room for */
    size_t length;               /* tokens of the last pass; 0: nothing is kept */
    bool checked;                /* all that is kept was found finite */
    float scale;                 /* of the scores, temperature included */
    int32_t *tokens;             /* [P] */
    float *hidden;               /* [L + 1, P, E], before the final norm */
    float *final;                /* [P, E], after it */
    struct mh_kept_rows *layers; /* [L] */
    uint64_t *masks;             /* [L, H, P]: a signature of what each row sees, and how */
    uint64_t *ablations;         /* [L]: of the ablations of each layer */
};

/* Compares the pass with what is kept, and sets which rows each layer has to compute. `scale` is the
 * factor on the scores. Nothing is kept until mh_session_end. Returns the first row whose last hidden
 * state is computed; T if none is. */
size_t mh_session_begin(struct mh_session *session, const struct mh_model_pass *pass, float scale);

/* The pass of mh_session_begin has succeeded, `computed` row by row of all layers. */
void mh_session_end(struct mh_session *session, const struct mh_model_pass *pass, size_t computed);

/* Rows of the pass, over all layers, that see no key. */
size_t mh_session_blind_rows(const struct mh_session *session, size_t length);

#endif
