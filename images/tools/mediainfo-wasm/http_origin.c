#include "http.h"
#include "origin.h"
#include "trap.h"

static struct http_address source;
static double size;
static uint8_t buffer[MOST_READ];
/* Of the first response, until it is asked for. */
static struct chunk head;
/* Of an origin without ranges: how far it was read. */
static double reached;

/* A part, or less where it ends. What an origin sends beyond what was asked is not read. */
static struct chunk read_part(uint32_t most) {
  uint32_t length = 0, got;
  while (length < most && (got = http_read(buffer + length, most - length)) > 0) length += got;
  if (length == most && http_read((uint8_t[1]){0}, 1) > 0) http_drop();
  return (struct chunk){buffer, length};
}

static bool anywhere(double offset) { return offset >= 0; }
static bool forward(double offset) { return offset >= reached; }

static struct chunk read_range(double offset) {
  if (offset == 0 && head.length > 0) {
    struct chunk first = head;
    head.length = 0;
    return first;
  }
  if (offset >= size) return (struct chunk){buffer, 0};
  uint32_t step = next_step(offset);
  struct response response = http_get(&source, (uint64_t)offset, step);
  if (response.status == 416) {
    read_part(MOST_READ);
    return (struct chunk){buffer, 0};
  }
  if (response.status != 206) fail("HTTP %d in the middle of the source", response.status);
  return read_part(step);
}

/* Forward only: what is skipped is read and dropped. */
static struct chunk read_forward(double offset) {
  for (;;) {
    uint32_t length = http_read(buffer, FIRST_READ);
    if (length == 0) return (struct chunk){buffer, 0};
    double from = reached;
    reached += length;
    if (reached <= offset) continue;
    uint32_t skipped = offset > from ? (uint32_t)(offset - from) : 0;
    return (struct chunk){buffer + skipped, length - skipped};
  }
}

struct origin open_http(const char *address) {
  source = read_http_address(address);
  uint32_t step = next_step(0);
  struct response response = http_get(&source, 0, step);
  if (response.status == 416) fail("the source is empty");
  if (response.status != 200 && response.status != 206) fail("HTTP %d", response.status);
  if (response.status == 200) {
    size = response.content_length < 0 ? 0 : (double)response.content_length;
    return (struct origin){size, forward, read_forward};
  }
  size = response.total < 0 ? UNKNOWN_SIZE : (double)response.total;
  head = read_part(step);
  return (struct origin){size, anywhere, read_range};
}
