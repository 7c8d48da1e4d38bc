/* What the tables of layout.c and train_layout.c are made of. Offsets and kinds come from the
 * compiler; only names are written there, and tests/c/test_layout.c holds them against the headers. */
#ifndef MH_LAYOUT_ROWS_H
#define MH_LAYOUT_ROWS_H

#include <stddef.h>

#define KIND(structure, member)                                                                    \
    _Generic(((struct structure *)0)->member,                                                      \
        size_t: MH_FIELD_SIZE,                                                                     \
        int32_t: MH_FIELD_INT32,                                                                   \
        uint32_t: MH_FIELD_UINT32,                                                                 \
        float: MH_FIELD_FLOAT,                                                                     \
        double: MH_FIELD_DOUBLE,                                                                   \
        char *: MH_FIELD_TEXT,                                                                     \
        default: MH_FIELD_POINTER)

/* A member of `inner`, which sits `base` bytes into `outer` under the name `path`. */
#define AT(outer, path, base, inner, member)                                                       \
    {#outer, path #member, (uint32_t)((base) + offsetof(struct inner, member)), KIND(inner, member)}
#define FIELD(structure, member) AT(structure, "", 0, structure, member)
#define STRUCTURE(structure) {#structure, "", (uint32_t)sizeof(struct structure), MH_FIELD_SIZE}

/* The struct `member` of `structure`, by a macro that lists its members. */
#define NESTED(macro, structure, member)                                                           \
    macro(structure, #member ".", offsetof(struct structure, member))
/* That struct on its own. */
#define ALONE(macro, structure) STRUCTURE(structure), macro(structure, "", 0)

/* Structs of multihead.h that also sit inside others, here or there. */

#define MASK(outer, path, base)                                                                    \
    AT(outer, path, base, mh_mask, causal), AT(outer, path, base, mh_mask, query_offset),          \
        AT(outer, path, base, mh_mask, windowed), AT(outer, path, base, mh_mask, window_left),     \
        AT(outer, path, base, mh_mask, window_right), AT(outer, path, base, mh_mask, prefix),      \
        AT(outer, path, base, mh_mask, free_keys), AT(outer, path, base, mh_mask, query_blocks),   \
        AT(outer, path, base, mh_mask, key_blocks), AT(outer, path, base, mh_mask, key_lengths),   \
        AT(outer, path, base, mh_mask, key_hidden), AT(outer, path, base, mh_mask, hidden),        \
        AT(outer, path, base, mh_mask, hidden_when),                                               \
        AT(outer, path, base, mh_mask, hidden_batch_stride),                                       \
        AT(outer, path, base, mh_mask, hidden_head_stride),                                        \
        AT(outer, path, base, mh_mask, hidden_row_stride), AT(outer, path, base, mh_mask, bias),   \
        AT(outer, path, base, mh_mask, bias_batch_stride),                                         \
        AT(outer, path, base, mh_mask, bias_head_stride),                                          \
        AT(outer, path, base, mh_mask, bias_row_stride)

#define MODEL_CONFIG(outer, path, base)                                                            \
    AT(outer, path, base, mh_model_config, layers), AT(outer, path, base, mh_model_config, heads), \
        AT(outer, path, base, mh_model_config, kv_heads),                                          \
        AT(outer, path, base, mh_model_config, embed_dim),                                         \
        AT(outer, path, base, mh_model_config, ffn_dim),                                           \
        AT(outer, path, base, mh_model_config, vocabulary),                                        \
        AT(outer, path, base, mh_model_config, positions),                                         \
        AT(outer, path, base, mh_model_config, activation),                                        \
        AT(outer, path, base, mh_model_config, norm_position),                                     \
        AT(outer, path, base, mh_model_config, norm_epsilon),                                      \
        AT(outer, path, base, mh_model_config, precision)

#endif
