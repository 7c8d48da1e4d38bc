#include "model/json.h"

#include <stdint.h>

void mh_json_skip_space(struct mh_json *json)
{
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r'))
        json->at++;
}

bool mh_json_take(struct mh_json *json, char punctuation)
{
    mh_json_skip_space(json);
    if (json->at == json->end || *json->at != (unsigned char)punctuation)
        return false;
    json->at++;
    return true;
}

/* ===== Numbers ============================================================================== */

static bool is_digit(const struct mh_json *json)
{
    return json->at < json->end && *json->at >= '0' && *json->at <= '9';
}

bool mh_json_size(struct mh_json *json, size_t *value)
{
    mh_json_skip_space(json);
    if (!is_digit(json))
        return false;
    bool leading_zero = *json->at == '0';
    size_t sum = 0;
    size_t digits = 0;
    for (; is_digit(json); json->at++, digits++) {
        size_t digit = (size_t)(*json->at - '0');
        if (sum > (SIZE_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return !(leading_zero && digits > 1); /* ".", "e" fail where punctuation is expected next */
}

/* ===== Strings ============================================================================== */

/* Where decoded bytes go, and how many there are. */
struct sink {
    char *out; /* or NULL */
    size_t length;
};

static void put(struct sink *sink, uint32_t byte)
{
    if (sink->out != NULL)
        sink->out[sink->length] = (char)(unsigned char)byte;
    sink->length++;
}

static void put_code_point(struct sink *sink, uint32_t code)
{
    if (code < 0x80) {
        put(sink, code);
    } else if (code < 0x800) {
        put(sink, 0xC0 | code >> 6);
        put(sink, 0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(sink, 0xE0 | code >> 12);
        put(sink, 0x80 | (code >> 6 & 0x3F));
        put(sink, 0x80 | (code & 0x3F));
    } else {
        put(sink, 0xF0 | code >> 18);
        put(sink, 0x80 | (code >> 12 & 0x3F));
        put(sink, 0x80 | (code >> 6 & 0x3F));
        put(sink, 0x80 | (code & 0x3F));
    }
}

/* The four hexadecimal digits of \uXXXX. */
static bool take_hex(struct mh_json *json, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        if (json->at == json->end)
            return false;
        unsigned char c = *json->at;
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            digit = (uint32_t)(c - 'A' + 10);
        else
            return false;
        *code = *code << 4 | digit;
        json->at++;
    }
    return true;
}

static bool is_high_surrogate(uint32_t code)
{
    return code >= 0xD800 && code <= 0xDBFF;
}

static bool is_low_surrogate(uint32_t code)
{
    return code >= 0xDC00 && code <= 0xDFFF;
}

/* What follows "\u": one code unit, or a pair of surrogates. */
static bool take_unicode_escape(struct mh_json *json, struct sink *sink)
{
    uint32_t code;
    if (!take_hex(json, &code) || code == 0 || is_low_surrogate(code))
        return false;
    if (is_high_surrogate(code)) {
        uint32_t low;
        if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u')
            return false;
        json->at += 2;
        if (!take_hex(json, &low) || !is_low_surrogate(low))
            return false;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    put_code_point(sink, code);
    return true;
}

/* What follows a backslash. */
static bool take_escape(struct mh_json *json, struct sink *sink)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    if (json->at == json->end)
        return false;
    unsigned char c = *json->at++;
    if (c == 'u')
        return take_unicode_escape(json, sink);
    for (size_t i = 0; i < sizeof from - 1; i++) {
        if (c == (unsigned char)from[i]) {
            put(sink, (unsigned char)to[i]);
            return true;
        }
    }
    json->at--;
    return false;
}

/* One UTF-8 sequence of two to four bytes (Unicode 15, table 3-7): no overlong form, no
 * surrogate, nothing past U+10FFFF. */
static bool take_utf8(struct mh_json *json, struct sink *sink)
{
    unsigned char lead = *json->at;
    size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || (size_t)(json->end - json->at) <= more)
        return false;
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    put(sink, lead);
    for (size_t i = 1; i <= more; i++) {
        unsigned char byte = json->at[i];
        if (byte < low || byte > high)
            return false;
        put(sink, byte);
        low = 0x80; /* only the second byte has the narrower range */
        high = 0xBF;
    }
    json->at += 1 + more;
    return true;
}

bool mh_json_string(struct mh_json *json, char *out, size_t *length)
{
    struct sink sink = {.out = out};
    if (!mh_json_take(json, '"'))
        return false;
    while (json->at < json->end && *json->at >= 0x20) {
        unsigned char c = *json->at;
        bool good = true;
        if (c == '"') {
            json->at++;
            *length = sink.length;
            if (out != NULL)
                out[sink.length] = '\0';
            return true;
        }
        if (c == '\\') {
            json->at++;
            good = take_escape(json, &sink);
        } else if (c >= 0x80) {
            good = take_utf8(json, &sink);
        } else {
            put(&sink, c);
            json->at++;
        }
        if (!good)
            return false;
    }
    return false;
}
