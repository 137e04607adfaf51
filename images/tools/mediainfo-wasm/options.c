#include "options.h"
#include "trap.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Letters and underscores behind one dash or two, alone or before "=". The name is cut out; NULL: it is no option. */
static char *split(char *argument, char **value) {
  if (*argument != '-') return NULL;
  char *name = argument + (argument[1] == '-' ? 2 : 1);
  size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
  if (length == 0 || (name[length] != '=' && name[length] != 0)) return NULL;
  *value = name + length + (name[length] == '=');
  name[length] = 0;
  return name;
}

static bool is(const char *name, const char *one, const char *other) {
  return strcasecmp(name, one) == 0 || strcasecmp(name, other) == 0;
}

struct options read_options(int count, char **arguments) {
  struct options options = {.output = ""};
  options.others = calloc((size_t)count + 1, sizeof *options.others);
  if (options.others == NULL) fail("out of memory");
  for (int i = 0; i < count; i++) {
    char *value, *name = split(arguments[i], &value);
    if (name == NULL) options.address = arguments[i];
    else if (is(name, "help", "h")) options.help = true;
    else if (is(name, "info_outputformats", "")) options.formats = true;
    else if (is(name, "version", "")) options.version = true;
    else if (is(name, "full", "f")) options.full = strcmp(value, "0") != 0;
    else if (is(name, "output", "inform")) options.output = strcasecmp(value, "text") == 0 ? "" : value;
    else if (is(name, "cover_data", "")) options.cover = *value != 0;
    else options.others[options.other_count++] = (struct setting){name, value};
  }
  return options;
}
