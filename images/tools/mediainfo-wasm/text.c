#define _GNU_SOURCE
#include "text.h"
#include "trap.h"
#include <stdlib.h>
#include <string.h>

void text_clear(struct text *text) {
  text->length = 0;
  text_add(text, "", 0);
}

void text_add(struct text *text, const char *bytes, size_t length) {
  size_t needed = text->length + length + 1;
  if (needed > text->room) {
    size_t room = needed * 2;
    char *grown = realloc(text->bytes, room);
    if (grown == NULL) fail("out of memory");
    text->bytes = grown;
    text->room = room;
  }
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  text->bytes[text->length] = 0;
}

void text_add_string(struct text *text, const char *string) { text_add(text, string, strlen(string)); }

void text_add_code_point(struct text *text, uint32_t code_point) {
  uint32_t c = code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000) ? 0xfffd : code_point;
  char bytes[4];
  size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--, c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3f));
  bytes[0] = (char)(length == 1 ? c : (0xf00u >> length & 0xff) | c);
  text_add(text, bytes, length);
}

void text_replace(struct text *text, size_t at, size_t length, const char *string) {
  size_t added = strlen(string), old = text->length;
  text_add(text, string, added); /* for the room */
  memmove(text->bytes + at + added, text->bytes + at + length, old - at - length);
  memcpy(text->bytes + at, string, added);
  text->length = old - length + added;
  text->bytes[text->length] = 0;
}

size_t text_find(const struct text *text, const char *string, size_t from) {
  if (from > text->length) return NOWHERE;
  const char *found = memmem(text->bytes + from, text->length - from, string, strlen(string));
  return found == NULL ? NOWHERE : (size_t)(found - text->bytes);
}

uint32_t next_code_point(const char *bytes, size_t length, size_t *at) {
  uint8_t first = (uint8_t)bytes[(*at)++];
  if (first < 0x80) return first;
  if (first < 0xc2 || first > 0xf4) return 0xfffd;
  int more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  uint32_t c = first & (0x3fu >> more);
  /* Of the second byte the bounds are narrower: no longer form than needed, no surrogates, nothing past U+10FFFF. */
  uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (; more > 0; more--, low = 0x80, high = 0xbf) {
    if (*at >= length || (uint8_t)bytes[*at] < low || (uint8_t)bytes[*at] > high) return 0xfffd;
    c = c << 6 | ((uint8_t)bytes[(*at)++] & 0x3f);
  }
  return c;
}
