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
        put(text, byte < 0x20 || byte == 0x7f ? '?' : string[i]);
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

/* `value` >= 0 and finite as digits * 10^(exponent - 5) with 100000 <= digits < 1000000, or 0. */
static uint64_t six_digits(double value, int *exponent)
{
    *exponent = 0;
    if (value == 0)
        return 0;
    for (; value >= 10; value /= 10)
        ++*exponent;
    for (; value < 1; value *= 10)
        --*exponent;
    uint64_t digits = (uint64_t)(value * 1e5 + 0.5);
    if (digits == 1000000) {
        digits = 100000;
        ++*exponent;
    }
    return digits;
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
    int exponent;
    uint64_t digits = six_digits(value, &exponent);
    bool scientific = exponent < -5 || exponent > 5;
    int point = scientific ? 0 : exponent; /* digits before the point, less one */

    uint64_t unit = 100000;
    if (point < 0) {
        put(text, '0');
        put(text, '.');
        for (int i = point + 1; i < 0; i++)
            put(text, '0');
    }
    for (int i = 0; unit > 0 && (digits > 0 || i <= point); i++) {
        if (i > 0 && i == point + 1)
            put(text, '.');
        put(text, (char)('0' + digits / unit));
        digits %= unit;
        unit /= 10;
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
