/* The layout of every struct of multihead_train.h, as data. */
#include "abi/layout_rows.h"
#include "multihead_train.h"

#define ADAMW(outer, path, base)                                                                   \
    AT(outer, path, base, mh_adamw, beta1), AT(outer, path, base, mh_adamw, beta2),                \
        AT(outer, path, base, mh_adamw, epsilon), AT(outer, path, base, mh_adamw, weight_decay)

#define SCHEDULE(outer, path, base)                                                                \
    AT(outer, path, base, mh_schedule, peak), AT(outer, path, base, mh_schedule, floor),           \
        AT(outer, path, base, mh_schedule, warm_up), AT(outer, path, base, mh_schedule, steps)

static const struct mh_field layout[] = {
    STRUCTURE(mh_network),
    NESTED(MODEL_CONFIG, mh_network, model),
    FIELD(mh_network, architecture),
    FIELD(mh_network, encoder_layers),
    FIELD(mh_network, patch_dim),
    FIELD(mh_network, class_token),
    FIELD(mh_network, sinusoidal),

    STRUCTURE(mh_parameter),
    FIELD(mh_parameter, name),
    FIELD(mh_parameter, rows),
    FIELD(mh_parameter, columns),
    FIELD(mh_parameter, offset),
    FIELD(mh_parameter, count),
    FIELD(mh_parameter, decays),

    STRUCTURE(mh_supervision),
    FIELD(mh_supervision, layer),
    FIELD(mh_supervision, head),
    FIELD(mh_supervision, cross),
    FIELD(mh_supervision, weight),
    FIELD(mh_supervision, target),

    STRUCTURE(mh_training_pass),
    FIELD(mh_training_pass, parameters),
    FIELD(mh_training_pass, gradient),
    FIELD(mh_training_pass, batch),
    FIELD(mh_training_pass, length),
    FIELD(mh_training_pass, tokens),
    FIELD(mh_training_pass, targets),
    NESTED(MASK, mh_training_pass, mask),
    FIELD(mh_training_pass, layer_masks),
    FIELD(mh_training_pass, source),
    FIELD(mh_training_pass, source_length),
    FIELD(mh_training_pass, source_lengths),
    FIELD(mh_training_pass, patches),
    FIELD(mh_training_pass, scale_mode),
    FIELD(mh_training_pass, scale),
    FIELD(mh_training_pass, attention_dropout),
    FIELD(mh_training_pass, residual_dropout),
    FIELD(mh_training_pass, dropout_seed),
    FIELD(mh_training_pass, factor),
    FIELD(mh_training_pass, supervision),
    FIELD(mh_training_pass, supervision_count),
    FIELD(mh_training_pass, attention),
    FIELD(mh_training_pass, scores),
    FIELD(mh_training_pass, cross_attention),
    FIELD(mh_training_pass, encoder_attention),
    FIELD(mh_training_pass, logits),

    STRUCTURE(mh_training_result),
    FIELD(mh_training_result, loss),
    FIELD(mh_training_result, counted),
    FIELD(mh_training_result, correct),
    FIELD(mh_training_result, supervision),

    STRUCTURE(mh_multihead_gradient),
    FIELD(mh_multihead_gradient, output),
    FIELD(mh_multihead_gradient, query),
    FIELD(mh_multihead_gradient, key),
    FIELD(mh_multihead_gradient, value),
    FIELD(mh_multihead_gradient, query_weight),
    FIELD(mh_multihead_gradient, key_weight),
    FIELD(mh_multihead_gradient, value_weight),
    FIELD(mh_multihead_gradient, out_weight),
    FIELD(mh_multihead_gradient, query_bias),
    FIELD(mh_multihead_gradient, key_bias),
    FIELD(mh_multihead_gradient, value_bias),
    FIELD(mh_multihead_gradient, out_bias),
    FIELD(mh_multihead_gradient, bias_key),
    FIELD(mh_multihead_gradient, bias_value),

    ALONE(SCHEDULE, mh_schedule),
    ALONE(ADAMW, mh_adamw),

    STRUCTURE(mh_adamw_state),
    FIELD(mh_adamw_state, mean),
    FIELD(mh_adamw_state, variance),
    FIELD(mh_adamw_state, step),

    STRUCTURE(mh_trainer_settings),
    FIELD(mh_trainer_settings, seed),
    FIELD(mh_trainer_settings, initialisation),
    FIELD(mh_trainer_settings, optimiser),
    NESTED(ADAMW, mh_trainer_settings, adamw),
    NESTED(SCHEDULE, mh_trainer_settings, schedule),
    FIELD(mh_trainer_settings, clip),
    FIELD(mh_trainer_settings, attention_dropout),
    FIELD(mh_trainer_settings, residual_dropout),
    FIELD(mh_trainer_settings, scale_mode),
    FIELD(mh_trainer_settings, scale),

    STRUCTURE(mh_step_report),
    FIELD(mh_step_report, step),
    FIELD(mh_step_report, learning_rate),
    FIELD(mh_step_report, gradient_norm),
    FIELD(mh_step_report, gradient_norms),
    FIELD(mh_step_report, update_norms),
    FIELD(mh_step_report, parameter_norms),

    {NULL, NULL, 0, 0},
};

const struct mh_field *mh_train_layout(void)
{
    return layout;
}
