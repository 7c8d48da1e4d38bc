/* The layout tables against the headers: both are parsed, and every member of every struct in them
 * must be in a table once, with nothing else; offsets must be those of the compiler's rules. */
#include "multihead_train.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOT_IN_TABLE "mh_field" /* the table's own type */
#define MOST_FIELDS 512
#define MOST_NAME 96
#define MOST_TEXT (1 << 20)

/* ===== The header =========================================================================== */

/* Adds a header to the text. */
static void read_header(char *text, const char *header)
{
    FILE *file = fopen(header, "rb");
    if (file == NULL)
        fail_msg("cannot open %s: run the tests from the top of the repository", header);
    size_t length = strlen(text);
    assert_true(fread(text + length, 1, MOST_TEXT - 1 - length, file) > 1000);
    fclose(file);
}

static char *read_headers(void)
{
    char *text = calloc(1, MOST_TEXT);
    assert_non_null(text);
    read_header(text, "c/include/multihead.h");
    read_header(text, "c/include/multihead_train.h");
    return text;
}

/* Comments and preprocessor lines become spaces. */
static void blank_comments(char *text)
{
    for (char *at = strstr(text, "/*"); at != NULL; at = strstr(at, "/*")) {
        char *end = strstr(at, "*/");
        assert_non_null(end);
        memset(at, ' ', (size_t)(end + 2 - at));
    }
}

/* `struct NAME {` … `}`: the body, or NULL. */
static const char *body_of(const char *text, const char *name)
{
    char opening[MOST_NAME];
    snprintf(opening, sizeof opening, "struct %s {", name);
    const char *at = strstr(text, opening);
    return at == NULL ? NULL : at + strlen(opening);
}

struct names {
    char of[MOST_FIELDS][MOST_NAME];
    size_t count;
};

/* The name in a declarator such as " *heads", " message[252]" or "size_t batch": its last word. */
static char *declared_name(char *declarator)
{
    char *bracket = strchr(declarator, '[');
    if (bracket != NULL)
        *bracket = '\0';
    char *name = declarator + strlen(declarator);
    while (name > declarator && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
        name--;
    return name;
}

/* Adds the members of struct `name` in order, those of nested structs under "member.". */
static void list_members(const char *text, const char *name, const char *path, struct names *out)
{
    const char *at = body_of(text, name);
    assert_non_null(at);
    for (at += strspn(at, " \n"); *at != '}'; at += strspn(at, " \n")) {
        char declaration[512];
        size_t length = strcspn(at, ";");
        assert_true(length < sizeof declaration);
        memcpy(declaration, at, length);
        declaration[length] = '\0';
        at += length + 1;

        char type[MOST_NAME] = "";
        sscanf(declaration, "struct %63[a-z_]", type);
        for (char *part = declaration, *next; part != NULL; part = next) {
            next = strchr(part, ',');
            if (next != NULL)
                *next++ = '\0';
            bool nested = *type != '\0' && strchr(part, '*') == NULL;
            char full[MOST_NAME];
            int written =
                snprintf(full, sizeof full, "%s%s%s", path, declared_name(part), nested ? "." : "");
            assert_in_range(written, 1, sizeof full - 1);
            if (nested) {
                list_members(text, type, full, out);
            } else {
                assert_true(out->count < MOST_FIELDS);
                strcpy(out->of[out->count++], full);
            }
        }
    }
}

/* ===== The table ============================================================================ */

static size_t size_of_kind(const struct mh_field *field)
{
    switch (field->kind) {
    case MH_FIELD_SIZE:
        return sizeof(size_t);
    case MH_FIELD_POINTER:
        return sizeof(void *);
    case MH_FIELD_INT32:
    case MH_FIELD_UINT32:
    case MH_FIELD_FLOAT:
        return 4;
    case MH_FIELD_DOUBLE:
        return 8;
    case MH_FIELD_TEXT:
        return strcmp(field->structure, "mh_error") == 0 ? sizeof((struct mh_error *)0)->message
                                                         : sizeof((struct mh_parameter *)0)->name;
    default:
        fail_msg("%s.%s has kind %u", field->structure, field->name, field->kind);
        return 0;
    }
}

static size_t align_up(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

/* Members follow one another with no more than the padding that their alignment asks for. */
static void check_offsets(const struct mh_field *structure)
{
    size_t end = 0, widest = 1;
    for (const struct mh_field *field = structure + 1; field->structure && *field->name; field++) {
        size_t size = size_of_kind(field);
        size_t alignment = field->kind == MH_FIELD_TEXT ? 1 : size;
        size_t expected = align_up(end, alignment);
        /* a nested struct begins at its own alignment, which is a pointer's in all of ours */
        if (field->offset != expected && field->offset != align_up(end, sizeof(void *)))
            fail_msg("%s.%s is at %u, not at %zu", field->structure, field->name, field->offset,
                     expected);
        end = field->offset + size;
        widest = alignment > widest ? alignment : widest;
    }
    if (structure->offset != align_up(end, widest))
        fail_msg("%s has size %u, not %zu", structure->structure, structure->offset,
                 align_up(end, widest));
}

static const struct mh_field *find_in(const struct mh_field *field, const char *structure,
                                      const char *name)
{
    for (; field->structure != NULL; field++)
        if (strcmp(field->name, name) == 0 && strcmp(field->structure, structure) == 0)
            return field;
    return NULL;
}

/* In either table. An empty name is the structure's own entry. */
static const struct mh_field *find(const char *structure, const char *name)
{
    const struct mh_field *field = find_in(mh_layout(), structure, name);
    return field != NULL ? field : find_in(mh_train_layout(), structure, name);
}

static size_t count_structures(const struct mh_field *field)
{
    size_t count = 0;
    for (; field->structure != NULL; field++)
        count += *field->name == '\0';
    return count;
}

static void test_every_struct_of_the_headers(void **state)
{
    (void)state;
    char *text = read_headers();
    blank_comments(text);
    size_t structures = 0;
    for (const char *at = strstr(text, "\nstruct mh_"); at; at = strstr(at + 1, "\nstruct mh_")) {
        char name[MOST_NAME];
        assert_int_equal(sscanf(at, "\nstruct %63[a-z_]", name), 1);
        if (strcmp(name, NOT_IN_TABLE) == 0)
            continue;
        structures++;
        const struct mh_field *field = find(name, "");
        if (field == NULL)
            fail_msg("struct %s is not in the table", name);
        check_offsets(field);

        struct names *names = calloc(1, sizeof *names);
        assert_non_null(names);
        list_members(text, name, "", names);
        for (size_t i = 0; i < names->count; i++) {
            field++;
            if (field->structure == NULL || strcmp(field->name, names->of[i]) != 0)
                fail_msg("after member %zu of %s: the header has %s, the table %s", i, name,
                         names->of[i], field->structure ? field->name : "its end");
            assert_string_equal(field->structure, name);
        }
        if (field[1].structure != NULL && field[1].name[0] != '\0')
            fail_msg("%s.%s is not in the header", name, field[1].name);
        free(names);
    }
    assert_int_equal(count_structures(mh_layout()) + count_structures(mh_train_layout()),
                     structures);
    assert_true(structures >= 25);
    free(text);
}

/* A few of each kind, spelled out. */
static void test_known_fields(void **state)
{
    (void)state;
    static const struct mh_field expected[] = {
        {"mh_model_pass", "", sizeof(struct mh_model_pass), MH_FIELD_SIZE},
        {"mh_model_pass", "tokens", offsetof(struct mh_model_pass, tokens), MH_FIELD_POINTER},
        {"mh_model_pass", "length", offsetof(struct mh_model_pass, length), MH_FIELD_SIZE},
        {"mh_model_pass", "mask.causal", offsetof(struct mh_model_pass, mask.causal),
         MH_FIELD_INT32},
        {"mh_model_pass", "temperature", offsetof(struct mh_model_pass, temperature),
         MH_FIELD_FLOAT},
        {"mh_attention", "weights.mode", offsetof(struct mh_attention, weights.mode),
         MH_FIELD_INT32},
        {"mh_attention", "dropout_seed", offsetof(struct mh_attention, dropout_seed),
         MH_FIELD_UINT32},
        {"mh_block_config", "attention.out.bias",
         offsetof(struct mh_block_config, attention.out.bias), MH_FIELD_POINTER},
        {"mh_error", "message", offsetof(struct mh_error, message), MH_FIELD_TEXT},
        {"mh_trainer_settings", "adamw.beta2", offsetof(struct mh_trainer_settings, adamw.beta2),
         MH_FIELD_FLOAT},
        {"mh_training_result", "loss", offsetof(struct mh_training_result, loss), MH_FIELD_DOUBLE},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct mh_field *field = find(expected[i].structure, expected[i].name);
        if (field == NULL)
            fail_msg("%s.%s is missing", expected[i].structure, expected[i].name);
        assert_int_equal(field->offset, expected[i].offset);
        assert_int_equal(field->kind, expected[i].kind);
    }
}

static void test_build(void **state)
{
    (void)state;
    assert_string_equal(mh_build(), "native");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_struct_of_the_headers),
        cmocka_unit_test(test_known_fields),
        cmocka_unit_test(test_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
