#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

const char *mh_status_name(int32_t status)
{
    switch (status) {
#define X(name, text)                                                                              \
    case MH_##name:                                                                                \
        return text;
        MH_STATUS_LIST(X)
#undef X
    default:
        return "unknown";
    }
}

const char *mh_tensor_name(int32_t tensor)
{
    switch (tensor) {
#define X(name, text)                                                                              \
    case MH_TENSOR_##name:                                                                         \
        return text;
        MH_TENSOR_LIST(X)
#undef X
    default:
        return "unknown";
    }
}

/* ===== A small printf ======================================================================= */

struct text {
    char *bytes;
    size_t length, capacity; /* capacity leaves room for the final NUL */
};

static void put(struct text *text, char c)
{
    if (text->length < text->capacity)
        text->bytes[text->length] = c;
    text->length++; /* past the capacity too: finish() must know that something was cut */
}

static void put_string(struct text *text, const char *string, size_t most)
{
    for (size_t i = 0; i < most && string[i] != '\0'; i++) {
        unsigned char byte = (unsigned char)string[i];
        bool control = byte < 0x20 || byte == 0x7f;
        put(text, control ? (char)'?' : string[i]);
    }
}

static void put_unsigned(struct text *text, uint64_t value)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    while (count > 0)
        put(text, digits[--count]);
}

static void put_signed(struct text *text, int64_t value)
{
    if (value < 0)
        put(text, '-');
    put_unsigned(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

enum { DIGITS = 6 };

/* value = d.ddddd * 10^exponent for a finite value > 0; all zeros for 0. */
static void split_number(double value, char digits[DIGITS], int *exponent)
{
    *exponent = 0;
    while (value >= 10) {
        value /= 10;
        ++*exponent;
    }
    while (value > 0 && value < 1) {
        value *= 10;
        --*exponent;
    }
    uint32_t rounded = (uint32_t)(value * 1e5 + 0.5);
    if (rounded == 1000000) {
        rounded = 100000;
        ++*exponent;
    }
    for (int i = DIGITS; i-- > 0; rounded /= 10)
        digits[i] = (char)('0' + rounded % 10);
}

/* As printf's %g, to 6 digits, whose last may differ by one. */
static void put_number(struct text *text, double value)
{
    if (value != value) {
        put_string(text, "NaN", 3);
        return;
    }
    if (value < 0) {
        put(text, '-');
        value = -value;
    }
    if (value > 1.7976931348623157e308) {
        put_string(text, "infinity", 8);
        return;
    }
    char digits[DIGITS];
    int exponent;
    split_number(value, digits, &exponent);
    bool scientific = exponent < -5 || exponent >= DIGITS;
    int last_before_point = scientific ? 0 : exponent;
    int last = DIGITS - 1; /* that is not a zero behind the point */
    while (last > last_before_point && last > 0 && digits[last] == '0')
        last--;

    for (int i = last_before_point < 0 ? last_before_point : 0; i <= last; i++) {
        put(text, i < 0 ? (char)'0' : digits[i]);
        if (i == last_before_point && i < last)
            put(text, '.');
    }
    if (scientific) {
        put(text, 'e');
        put_signed(text, exponent);
    }
}

/* Writes the argument of one directive; returns the format after it. */
static const char *put_directive(struct text *text, const char *format, va_list *arguments)
{
    if (strncmp(format, "zu", 2) == 0) {
        put_unsigned(text, va_arg(*arguments, size_t));
        return format + 2;
    }
    if (strncmp(format, ".*s", 3) == 0) {
        int most = va_arg(*arguments, int);
        put_string(text, va_arg(*arguments, const char *), most < 0 ? 0 : (size_t)most);
        return format + 3;
    }
    switch (*format) {
    case 's':
        put_string(text, va_arg(*arguments, const char *), SIZE_MAX);
        break;
    case 'd':
        put_signed(text, va_arg(*arguments, int));
        break;
    case 'u':
        put_unsigned(text, va_arg(*arguments, unsigned));
        break;
    case 'g':
        put_number(text, va_arg(*arguments, double));
        break;
    default: /* "%%" */
        put(text, *format);
        break;
    }
    return format + 1;
}

/* Ends the string; if it was cut, takes away the beginning of a UTF-8 sequence left at its end. */
static void finish(struct text *text)
{
    size_t end = text->length;
    if (end > text->capacity) {
        end = text->capacity;
        while (end > 0 && ((unsigned char)text->bytes[end - 1] & 0xC0) == 0x80)
            end--;
        if (end > 0 && ((unsigned char)text->bytes[end - 1] & 0x80) != 0)
            end--;
    }
    text->bytes[end] = '\0';
}

enum mh_status mh_fail(struct mh_error *error, enum mh_status status, const char *format, ...)
{
    if (error == NULL)
        return status;
    error->status = (int32_t)status;
    struct text text = {.bytes = error->message, .capacity = sizeof error->message - 1};
    va_list arguments;
    va_start(arguments, format);
    while (*format != '\0') {
        if (*format == '%')
            format = put_directive(&text, format + 1, &arguments);
        else
            put(&text, *format++);
    }
    va_end(arguments);
    finish(&text);
    return status;
}

enum mh_status mh_require(struct mh_error *error, const struct mh_pointer *pointers)
{
    for (; pointers->name != NULL; pointers++)
        if (pointers->address == NULL)
            return mh_fail(error, MH_ARGUMENT, "%s is NULL", pointers->name);
    return MH_OK;
}
