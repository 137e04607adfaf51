#define _GNU_SOURCE
#include "origin.h"
#include "trap.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int file;

/* "ENOENT: no such file or directory" */
static const char *reason(void) {
  static char text[128];
  const char *name = strerrorname_np(errno), *described = strerror(errno);
  snprintf(text, sizeof text, "%s: %c%s", name == NULL ? "error" : name, tolower(*described), described + 1);
  return text;
}

static bool can_seek(double offset) { return offset >= 0; }

static struct chunk read_file(double offset) {
  static uint8_t buffer[MOST_READ];
  ssize_t got = pread(file, buffer, next_step(offset), (off_t)offset);
  if (got < 0) fail("%s, read", reason());
  return (struct chunk){buffer, (uint32_t)got};
}

struct origin open_file(const char *path) {
  struct stat status;
  file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &status) < 0) fail("%s, open '%s'", reason(), path);
  return (struct origin){(double)status.st_size, can_seek, read_file};
}
