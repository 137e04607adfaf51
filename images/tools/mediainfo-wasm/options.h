/* The options of MediaInfo's command line that a caller can set. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

struct setting {
  const char *name;
  const char *value;
};

struct options {
  const char *output; /* empty: text */
  const char *address;
  bool full, cover, help, version, formats;
  /* All others, in their order. */
  struct setting *others;
  int other_count;
};

/* Splits the arguments in place. */
struct options read_options(int count, char **arguments);

#endif
