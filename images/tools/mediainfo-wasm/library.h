/* MediaInfoLib, whatever its module: it is fed bytes, says from where it wants more, and prints what it found. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "options.h"
#include "text.h"
#include <stdint.h>

/* Options of the command line that this build has no entry for; empty: none. */
extern const char *const without_effect;

/* A new library with these options. */
void library_open(const struct options *options);
/* Of a source of this size, bytes from this offset on come next. */
void library_begin(double size, double offset);
/* True: it has enough. */
bool library_feed(const uint8_t *bytes, uint32_t length);
/* The offset that it wants to go on at; -1: where it is. */
double library_wants(void);
void library_end(void);
void library_inform(struct text *into);
/* Its version. The library of before is gone. */
void library_version(struct text *into);

#endif
