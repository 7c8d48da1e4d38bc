/* Just enough JSON (RFC 8259) for the header of a safetensors file: strings, whole numbers and the
 * punctuation between them. A cursor over bytes that are not trusted: nothing is read past `end`,
 * nothing is allocated, nothing recurses. After a failure the cursor stands where it was met. */
#ifndef MH_JSON_H
#define MH_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct mh_json {
    const unsigned char *at, *end;
};

/* Skips white space. */
void mh_json_skip_space(struct mh_json *json);

/* Takes `punctuation` if it comes next, after white space. */
bool mh_json_take(struct mh_json *json, char punctuation);

/* Takes a string and writes what it stands for, as UTF-8 with a closing NUL, to `out` (or nowhere,
 * if NULL); *length is without the NUL. It never takes more bytes than the string did with its
 * quotes. False for anything JSON does not allow, for UTF-8 that is not well-formed, for a lone
 * surrogate, and for U+0000, so that the result is a C string. */
bool mh_json_string(struct mh_json *json, char *out, size_t *length);

/* Takes a whole number >= 0. False if it has a sign, a fraction, an exponent or a leading zero, or
 * is more than SIZE_MAX. */
bool mh_json_size(struct mh_json *json, size_t *value);

#endif
