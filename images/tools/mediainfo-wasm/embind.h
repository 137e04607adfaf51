/*
 * What the module registers for its caller (Emscripten's embind): one class, with methods that are called through
 * invokers, and strings of several widths.
 */
#ifndef EMBIND_H
#define EMBIND_H

#include "text.h"
#include <stdint.h>

/* The result, the object, then the arguments. */
#define MOST_TYPES 8

struct callable {
  char name[48];
  uint32_t type_count, types[MOST_TYPES];
  /* The invoker takes the callable itself first. */
  uint32_t invoker, callee;
};

void embind_forget(void);

/* What the module calls. */
void embind_string(uint32_t type, uint32_t width);
void embind_constructor(uint32_t type_count, uint32_t types, uint32_t invoker, uint32_t callee);
void embind_method(uint32_t name, uint32_t type_count, uint32_t types, uint32_t invoker, uint32_t callee);

/* What was registered. It fails where there is no such method. */
const struct callable *constructor(void);
const struct callable *method(const char *name, uint32_t type_count);

/* A string for an argument of this type, to be released by the caller; and one that a method has returned, released. */
uint32_t give_string(uint32_t type, const char *bytes, uint32_t length);
void take_string(uint32_t type, uint32_t address, struct text *into);

#endif
