#include "embind.h"
#include "module.h"
#include "trap.h"
#include <string.h>

#define MOST 32

static struct callable made_by, methods[MOST];
static struct { uint32_t type, width; } strings[MOST];
static uint32_t method_count, string_count;

void embind_forget(void) { method_count = string_count = 0; }

void embind_string(uint32_t type, uint32_t width) {
  if (string_count == MOST) fail("the library has too many types");
  strings[string_count].type = type;
  strings[string_count++].width = width;
}

static struct callable callable(uint32_t type_count, uint32_t types, uint32_t invoker, uint32_t callee) {
  struct callable made = {.type_count = type_count, .invoker = invoker, .callee = callee};
  if (type_count > MOST_TYPES) fail("the library has too many arguments");
  for (uint32_t i = 0; i < type_count; i++) made.types[i] = word_at(types + 4 * i);
  return made;
}

void embind_constructor(uint32_t type_count, uint32_t types, uint32_t invoker, uint32_t callee) {
  made_by = callable(type_count, types, invoker, callee);
}

void embind_method(uint32_t name, uint32_t type_count, uint32_t types, uint32_t invoker, uint32_t callee) {
  if (method_count == MOST) fail("the library has too many methods");
  struct callable *made = &methods[method_count++];
  *made = callable(type_count, types, invoker, callee);
  for (size_t i = 0; i < sizeof made->name - 1; i++)
    if ((made->name[i] = (char)*bytes_at(name + (uint32_t)i, 1)) == 0) break;
}

const struct callable *constructor(void) { return &made_by; }

const struct callable *method(const char *name, uint32_t type_count) {
  for (uint32_t i = 0; i < method_count; i++)
    if (methods[i].type_count == type_count && strcmp(methods[i].name, name) == 0) return &methods[i];
  fail("the library has no method %s", name);
}

static uint32_t width_of(uint32_t type) {
  for (uint32_t i = 0; i < string_count; i++)
    if (strings[i].type == type) return strings[i].width;
  fail("the library has another type where a string was expected");
}

/* Its length, then its characters, of 1 byte (as they are) or of 4 (one code point each). */
uint32_t give_string(uint32_t type, const char *bytes, uint32_t length) {
  if (width_of(type) == 1) {
    uint32_t address = module_allocate(length + 5);
    if (address == 0) fail("out of memory");
    set_word(address, length);
    memcpy(bytes_at(address + 4, length), bytes, length);
    *bytes_at(address + 4 + length, 1) = 0;
    return address;
  }
  uint32_t address = allocate(4 * length + 8), count = 0;
  for (size_t at = 0; at < length; count++) set_word(address + 4 + 4 * count, next_code_point(bytes, length, &at));
  set_word(address, count);
  return address;
}

/* The library keeps text of UTF-16 as it is, so two characters of a wide string may be the halves of one. */
static uint32_t wide_character(uint32_t address, uint32_t length, uint32_t *at) {
  uint32_t high = word_at(address + 4 * (*at)++);
  if (high >> 10 != 0xd800 >> 10 || *at == length) return high;
  uint32_t low = word_at(address + 4 * *at);
  if (low >> 10 != 0xdc00 >> 10) return high;
  (*at)++;
  return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

void take_string(uint32_t type, uint32_t address, struct text *into) {
  uint32_t length = word_at(address), width = width_of(type);
  text_clear(into);
  if (width == 1) {
    const char *bytes = (const char *)bytes_at(address + 4, length);
    for (size_t at = 0; at < length;) text_add_code_point(into, next_code_point(bytes, length, &at));
  } else {
    if (width != 4 || length > UINT32_MAX / 8) fail("the library has a string of an unknown kind");
    for (uint32_t at = 0; at < length;) text_add_code_point(into, wide_character(address + 4, length, &at));
  }
  module_release(address);
}
