/* 24.06 and 21.09: the object takes its options when it is made. */
#include "embind.h"
#include "library.h"
#include "module.h"
#include <string.h>

#define FINISHED 0x08

static uint32_t object;

void library_open(const struct options *options) {
  module_start();
  const struct callable *made_by = constructor();
  uint32_t output = give_string(made_by->types[1], options->output, (uint32_t)strlen(options->output));
  /* The release before knows no option for completeness. */
  object = made_by->type_count == 4
               ? call_iiiii(made_by->invoker, made_by->callee, output, options->cover, options->full)
               : call_iiii(made_by->invoker, made_by->callee, output, options->cover);
  module_release(output);
}

static uint32_t ask(const char *name) {
  const struct callable *asked = method(name, 2);
  return call_iii(asked->invoker, asked->callee, object);
}

void library_begin(double size, double offset) {
  const struct callable *begin = method("open_buffer_init", 4);
  call_iiidd(begin->invoker, begin->callee, object, size, offset);
}

bool library_feed(const uint8_t *bytes, uint32_t length) {
  const struct callable *feed = method("open_buffer_continue", 4);
  uint32_t chunk = give_string(feed->types[2], (const char *)bytes, length);
  uint32_t status = call_iiiid(feed->invoker, feed->callee, object, chunk, length);
  module_release(chunk);
  return (status & FINISHED) != 0;
}

/* 64 bits in two halves. */
double library_wants(void) {
  uint32_t low = ask("open_buffer_continue_goto_get_lower"), high = ask("open_buffer_continue_goto_get_upper");
  if (low == UINT32_MAX && high == UINT32_MAX) return -1;
  return (double)low + (double)(int32_t)high * 4294967296.0;
}

void library_end(void) { ask("open_buffer_finalize"); }

void library_inform(struct text *into) { take_string(method("inform", 2)->types[0], ask("inform"), into); }

/* There is no call for the version; every XML document names it. */
void library_version(struct text *into) {
  static const char before[] = "creatingLibrary version=\"";
  library_open(&(struct options){.output = "XML"});
  library_begin(0, 0);
  library_end();
  library_inform(into);
  size_t from = text_find(into, before, 0);
  size_t to = from == NOWHERE ? NOWHERE : text_find(into, "\"", from + sizeof before - 1);
  if (to == NOWHERE) {
    text_clear(into);
    text_add_string(into, "unknown");
    return;
  }
  text_replace(into, to, into->length - to, "");
  text_replace(into, 0, from + sizeof before - 1, "");
}
