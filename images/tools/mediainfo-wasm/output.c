#include "output.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MOST_EXTENSION 8

/* One to eight letters and digits behind the last dot of the path. Empty: it has none. */
static void extension_of(const char *address, char extension[MOST_EXTENSION + 1]) {
  const char *path = address, *end = address + strlen(address), *dot;
  if (strncasecmp(address, "http://", 7) == 0 || strncasecmp(address, "file://", 7) == 0) {
    path = address + 7 + strcspn(address + 7, "/?#");
    end = path + strcspn(path, "?#");
  }
  *extension = 0;
  for (dot = end; dot > path && isalnum((unsigned char)dot[-1]); dot--) {}
  if (dot == path || dot[-1] != '.' || dot == end || end - dot > MOST_EXTENSION) return;
  memcpy(extension, dot, (size_t)(end - dot));
  extension[end - dot] = 0;
}

static void add_json_string(struct text *text, const char *string) {
  static const char escaped[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
  size_t length = strlen(string);
  text_add_string(text, "\"");
  for (size_t at = 0; at < length;) {
    uint32_t c = next_code_point(string, length, &at);
    const char *special = c < 0x80 && c != 0 ? strchr(escaped, (int)c) : NULL;
    char escape[8];
    if (special != NULL) snprintf(escape, sizeof escape, "\\%c", letters[special - escaped]);
    else snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(c & 0xffff));
    if (special != NULL || c < 0x20) text_add_string(text, escape);
    else text_add_code_point(text, c);
  }
  text_add_string(text, "\"");
}

static void add_xml(struct text *text, const char *string) {
  size_t length = strlen(string);
  for (size_t at = 0; at < length;) {
    uint32_t c = next_code_point(string, length, &at);
    char escape[8];
    snprintf(escape, sizeof escape, "&#%u;", (unsigned)(c & 0xff));
    if (c == '&' || c == '<' || c == '>' || c == '"') text_add_string(text, escape);
    else text_add_code_point(text, c);
  }
}

static void replace_first(struct text *text, const char *what, const char *with) {
  size_t at = text_find(text, what, 0);
  if (at != NOWHERE) text_replace(text, at, strlen(what), with);
}

/* `"Format":` at the begin of a line. */
static size_t format_line(const struct text *text) {
  static const char format[] = "\"Format\":";
  for (size_t at = text_find(text, format, 0); at != NOWHERE; at = text_find(text, format, at + 1))
    if (at == 0 || text->bytes[at - 1] == '\n' || text->bytes[at - 1] == '\r') return at;
  return NOWHERE;
}

static size_t digits_at(const char *bytes) { return strspn(bytes, "0123456789"); }

/* `"Format":` behind `"@type":"General",` and any counts of streams (`"VideoCount":"1",`), all in one line. */
static size_t format_of_general(const struct text *text) {
  static const char general[] = "\"@type\":\"General\",", format[] = "\"Format\":";
  for (size_t at = text_find(text, general, 0); at != NOWHERE; at = text_find(text, general, at + 1)) {
    const char *next = text->bytes + at + sizeof general - 1;
    while (strncmp(next, format, sizeof format - 1) != 0) {
      size_t name = 0, digits;
      if (*next == '"') while (isalpha((unsigned char)next[1 + name])) name++;
      const char *value = next + 1 + name;
      if (name < 6 || strncmp(value - 5, "Count\":\"", 8) != 0) break;
      digits = digits_at(value + 3);
      if (digits == 0 || strncmp(value + 3 + digits, "\",", 2) != 0) break;
      next = value + 5 + digits;
    }
    if (strncmp(next, format, sizeof format - 1) == 0) return (size_t)(next - text->bytes);
  }
  return NOWHERE;
}

static void add_to_json(struct text *text, const char *address, const char *extension) {
  struct text with = {0};
  size_t at = text_find(text, "\"@ref\":", 0), empty = 0;
  for (; at != NOWHERE; at = text_find(text, "\"@ref\":", at + 1)) {
    empty = strncmp(text->bytes + at + 7, "\"\"", 2) == 0 ? 9 : strncmp(text->bytes + at + 7, " \"\"", 3) == 0 ? 10 : 0;
    if (empty != 0) break;
  }
  if (at != NOWHERE) {
    text_add_string(&with, "\"@ref\":");
    add_json_string(&with, address);
    text_replace(text, at, empty, with.bytes);
  }
  if (*extension == 0 || text_find(text, "\"FileExtension\"", 0) != NOWHERE) return;
  text_clear(&with);
  text_add_string(&with, "\"FileExtension\":\"");
  text_add_string(&with, extension);
  text_add_string(&with, "\",");
  if ((at = format_of_general(text)) != NOWHERE) text_replace(text, at, 0, with.bytes);
  text_add_string(&with, "\n");
  if ((at = format_line(text)) != NOWHERE) text_replace(text, at, 0, with.bytes);
}

static void add_to_xml(struct text *text, const char *address, const char *extension) {
  struct text with = {0};
  text_add_string(&with, "<media ref=\"");
  add_xml(&with, address);
  text_add_string(&with, "\">");
  replace_first(text, "<media ref=\"\">", with.bytes);
  if (*extension == 0 || text_find(text, "<FileExtension>", 0) != NOWHERE) return;
  text_clear(&with);
  text_add_string(&with, "<FileExtension>");
  text_add_string(&with, extension);
  text_add_string(&with, "</FileExtension>\n<Format>");
  replace_first(text, "<Format>", with.bytes);
}

static void add_to_text(struct text *text, const char *address) {
  size_t length = strlen(address), line = strncmp(text->bytes, "General\n", 8) == 0     ? 8
                                          : strncmp(text->bytes, "General\r\n", 9) == 0 ? 9
                                                                                        : 0;
  if (line == 0 || strncmp(text->bytes + line, "Complete name", 13) == 0) return;
  struct text with = {0};
  text_add_string(&with, "Complete name                            : ");
  for (size_t at = 0; at < length;) text_add_code_point(&with, next_code_point(address, length, &at));
  text_add_string(&with, "\n");
  text_replace(text, line, 0, with.bytes);
}

void add_address(struct text *text, const char *format, const char *address) {
  char extension[MOST_EXTENSION + 1];
  extension_of(address, extension);
  if (strcasecmp(format, "json") == 0) add_to_json(text, address, extension);
  else if (strcasecmp(format, "xml") == 0 || strcasecmp(format, "oldxml") == 0) add_to_xml(text, address, extension);
  else if (*format == 0) add_to_text(text, address);
}

void empty_output(struct text *text, const char *format, const char *version) {
  text_clear(text);
  if (strcasecmp(format, "json") == 0) {
    text_add_string(text, "{\n\"creatingLibrary\":{\"name\":\"MediaInfoLib\",\"version\":\"");
    text_add_string(text, version);
    text_add_string(text, "\",\"url\":\"https://mediaarea.net/MediaInfo\"},\n\"media\": null\n}\n");
  } else {
    text_add_string(text, "\n");
  }
}
