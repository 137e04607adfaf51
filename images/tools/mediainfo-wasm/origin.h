/* Where the bytes come from: a file, or HTTP by ranges over one kept connection. One chunk is held at a time. */
#ifndef ORIGIN_H
#define ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#define FIRST_READ (64u * 1024)
#define MOST_READ (1024u * 1024)

/* Of a source that does not say how large it is. */
#define UNKNOWN_SIZE 9007199254740991.0

struct chunk {
  const uint8_t *bytes;
  uint32_t length; /* 0: the end */
};

struct origin {
  double size;
  bool (*can_seek)(double offset);
  struct chunk (*read)(double offset);
};

struct origin open_origin(const char *address);
struct origin open_file(const char *path);
struct origin open_http(const char *address);

/* How much to read at this offset: small steps after a jump, larger ones while it goes straight on. */
uint32_t next_step(double offset);

#endif
