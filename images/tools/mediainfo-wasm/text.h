/* Text that grows. */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
  char *bytes; /* ended by NUL, beyond its length */
  size_t length, room;
};

/* `find` has this where there is nothing. */
#define NOWHERE ((size_t)-1)

void text_clear(struct text *text);
void text_add(struct text *text, const char *bytes, size_t length);
void text_add_string(struct text *text, const char *string);
void text_add_code_point(struct text *text, uint32_t code_point);
void text_replace(struct text *text, size_t at, size_t length, const char *string);
size_t text_find(const struct text *text, const char *string, size_t from);

/* One code point of UTF-8, as the Encoding standard decodes it: U+FFFD for what is none. `at` moves behind it. */
uint32_t next_code_point(const char *bytes, size_t length, size_t *at);

#endif
