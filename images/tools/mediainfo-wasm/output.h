/* What the command line adds to what the library prints: the address, which the library never sees. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "text.h"

void add_address(struct text *text, const char *format, const char *address);

/* What the command line prints where nothing could be read. */
void empty_output(struct text *text, const char *format, const char *version);

#endif
