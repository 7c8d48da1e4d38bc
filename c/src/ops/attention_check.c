/* What can be wrong with the arguments of attention. */
#include "ops/attention.h"

#include "base/error.h"
#include "ops/mask.h"
#include "ops/strides.h"

#include <math.h>

/* ===== Sizes ================================================================================ */

enum mh_status mh_attention_check_sizes(const struct mh_attention *a, struct mh_error *error)
{
    const struct {
        const char *name;
        size_t value;
    } sizes[] = {
        {"batch", a->batch},         {"queries", a->queries},   {"keys", a->keys},
        {"heads", a->heads},         {"kv_heads", a->kv_heads}, {"head_dim", a->head_dim},
        {"value_dim", a->value_dim},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value == 0)
            return mh_fail(error, MH_ARGUMENT, "%s is 0: it must be at least 1", sizes[i].name);
    if (a->heads % a->kv_heads != 0)
        return mh_fail(error, MH_SHAPE, "heads %zu is not divisible by kv_heads %zu", a->heads,
                       a->kv_heads);
    return MH_OK;
}

/* ===== Pointers and numbers ================================================================= */

static enum mh_status check_pointers(const struct mh_attention *a, struct mh_error *error)
{
    return mh_require(error, (const struct mh_pointer[]){{"query.data", a->query.data},
                                                         {"key.data", a->key.data},
                                                         {"value.data", a->value.data},
                                                         {"output.data", a->output.data},
                                                         {0}});
}

static enum mh_status check_numbers(const struct mh_attention *a, struct mh_error *error)
{
    if (a->scale_mode < MH_SCALE_DEFAULT || a->scale_mode > MH_SCALE_NONE)
        return mh_fail(error, MH_ARGUMENT,
                       "scale_mode is %d: it must be 0 (1/sqrt of head_dim), 1 (given) or 2 (none)",
                       a->scale_mode);
    if (a->scale_mode == MH_SCALE_GIVEN && !isfinite(a->scale))
        return mh_fail(error, MH_ARGUMENT, "scale is %g: it must be finite", (double)a->scale);
    if (!(a->dropout >= 0.0f && a->dropout < 1.0f))
        return mh_fail(error, MH_ARGUMENT, "dropout is %g: it must be at least 0 and less than 1",
                       (double)a->dropout);
    return MH_OK;
}

/* ===== Outputs ============================================================================== */

static enum mh_status check_output_strides(const struct mh_attention *a, struct mh_error *error)
{
    const struct mh_axis axes[] = {{"output.batch_stride", a->batch, a->output.batch_stride},
                                   {"output.head_stride", a->heads, a->output.head_stride},
                                   {"output.row_stride", a->queries, a->output.row_stride}};
    return mh_check_strides(axes, sizeof axes / sizeof *axes, a->value_dim, error);
}

/* A list of heads or rows: strictly ascending, each below `limit`. NULL means all. */
static enum mh_status check_list(const int32_t *list, size_t count, size_t limit, const char *name,
                                 const char *of, struct mh_error *error)
{
    if (list == NULL)
        return MH_OK;
    for (size_t i = 0; i < count; i++) {
        if (list[i] < 0 || (size_t)list[i] >= limit)
            return mh_fail(error, MH_ARGUMENT, "%s.%s[%zu] is %d: it must be 0 to %zu", name, of, i,
                           list[i], limit - 1);
        if (i > 0 && list[i] <= list[i - 1])
            return mh_fail(error, MH_ARGUMENT,
                           "%s.%s[%zu] is %d after %d: the list must be strictly ascending", name,
                           of, i, list[i], list[i - 1]);
    }
    return MH_OK;
}

enum mh_status mh_choice_check(const struct mh_choice *choice, size_t heads, size_t rows,
                               const char *name, struct mh_error *error)
{
    enum mh_status status =
        check_list(choice->heads, choice->head_count, heads, name, "heads", error);
    return status == MH_OK ? check_list(choice->rows, choice->row_count, rows, name, "rows", error)
                           : status;
}

static enum mh_status check_weights(const struct mh_attention *a, struct mh_error *error)
{
    const struct mh_weights_out *weights = &a->weights;
    if (weights->mode < MH_WEIGHTS_NONE || weights->mode > MH_WEIGHTS_ROWS)
        return mh_fail(error, MH_ARGUMENT,
                       "weights.mode is %d: it must be 0 (none), 1 (all), 2 (mean) or 3 (rows)",
                       weights->mode);
    if (weights->mode != MH_WEIGHTS_NONE && weights->data == NULL)
        return mh_fail(error, MH_ARGUMENT, "weights.data is NULL, but weights.mode is %d",
                       weights->mode);
    if (weights->mode != MH_WEIGHTS_ROWS)
        return MH_OK;
    const struct mh_choice choice = {weights->heads, weights->head_count, weights->rows,
                                     weights->row_count};
    return mh_choice_check(&choice, a->heads, a->queries, "weights", error);
}

static enum mh_status check_chosen_scores(const struct mh_attention *a, struct mh_error *error)
{
    if (a->raw_scores == NULL && a->scores == NULL)
        return MH_OK;
    return mh_choice_check(&a->chosen_scores, a->heads, a->queries, "chosen_scores", error);
}

enum mh_status mh_attention_check(const struct mh_attention *a, struct mh_error *error)
{
    enum mh_status status = mh_attention_check_sizes(a, error);
    if (status == MH_OK)
        status = check_pointers(a, error);
    if (status == MH_OK)
        status = check_numbers(a, error);
    if (status == MH_OK)
        status = check_output_strides(a, error);
    if (status == MH_OK)
        status = check_weights(a, error);
    if (status == MH_OK)
        status = check_chosen_scores(a, error);
    if (status == MH_OK)
        status = mh_mask_check(&a->mask, a->batch, a->keys, error);
    return status;
}
