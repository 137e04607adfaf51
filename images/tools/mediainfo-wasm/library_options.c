/* 19.09: the object takes every option, by name. */
#include "embind.h"
#include "library.h"
#include "module.h"
#include "trap.h"
#include <string.h>

#define FINISHED 0x08

static uint32_t object;

static void set(const char *name, const char *value, struct text *result) {
  const struct callable *option = method("Option", 4);
  uint32_t which = give_string(option->types[2], name, (uint32_t)strlen(name));
  uint32_t to = give_string(option->types[3], value, (uint32_t)strlen(value));
  uint32_t answer = call_iiiii(option->invoker, option->callee, object, which, to);
  module_release(which);
  module_release(to);
  take_string(option->types[0], answer, result);
}

void library_open(const struct options *options) {
  static struct text ignored;
  module_start();
  const struct callable *made_by = constructor();
  object = call_ii(made_by->invoker, made_by->callee);
  for (int i = 0; i < options->other_count; i++) set(options->others[i].name, options->others[i].value, &ignored);
  set("Output", options->output, &ignored);
  if (options->full) set("Complete", "1", &ignored);
  if (options->cover) set("Cover_Data", "base64", &ignored);
}

void library_begin(double size, double offset) {
  const struct callable *begin = method("Open_Buffer_Init", 4);
  call_iiidd(begin->invoker, begin->callee, object, size, offset);
}

bool library_feed(const uint8_t *bytes, uint32_t length) {
  const struct callable *feed = method("Open_Buffer_Continue", 3);
  uint32_t chunk = give_string(feed->types[2], (const char *)bytes, length);
  uint32_t status = call_iiii(feed->invoker, feed->callee, object, chunk);
  module_release(chunk);
  return (status & FINISHED) != 0;
}

double library_wants(void) {
  const struct callable *wants = method("Open_Buffer_Continue_Goto_Get", 2);
  return call_dii(wants->invoker, wants->callee, object);
}

void library_end(void) {
  const struct callable *end = method("Open_Buffer_Finalize", 2);
  call_iii(end->invoker, end->callee, object);
}

void library_inform(struct text *into) {
  const struct callable *inform = method("Inform", 2);
  take_string(inform->types[0], call_iii(inform->invoker, inform->callee, object), into);
}

/* "MediaInfoLib - v19.09" */
void library_version(struct text *into) {
  library_open(&(struct options){.output = ""});
  set("Info_Version", "", into);
  const char *last = strrchr(into->bytes, 'v');
  if (last != NULL) text_replace(into, 0, (size_t)(last + 1 - into->bytes), "");
}
