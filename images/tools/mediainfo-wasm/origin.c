#include "origin.h"
#include <strings.h>

struct origin open_origin(const char *address) {
  if (strncasecmp(address, "http://", 7) == 0) return open_http(address);
  return open_file(strncasecmp(address, "file://", 7) == 0 ? address + 7 : address);
}

uint32_t next_step(double offset) {
  static double next;
  static uint32_t step = FIRST_READ;
  if (offset != next || offset == 0) step = FIRST_READ;
  else if (step < MOST_READ) step *= 2;
  next = offset + step;
  return step;
}
