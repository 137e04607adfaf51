#include "http.h"
#include "trap.h"
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE_MS 60000
#define MOST_LINE 8192
#define MOST_LINES 256

static struct {
  int fd; /* -1: none */
  uint8_t buffer[64 * 1024];
  size_t at, end;
  uint64_t left; /* of the body, or of its chunk */
  enum { NOTHING, COUNTED, CHUNKED, UNTIL_CLOSED } body;
  bool first_chunk, close_after;
} connection = {.fd = -1};

void http_drop(void) {
  if (connection.fd >= 0) close(connection.fd);
  connection.fd = -1;
  connection.at = connection.end = 0;
  connection.body = NOTHING;
}

/* 0: the peer has closed; less: an error. */
static ssize_t fill(void) {
  struct pollfd polled = {.fd = connection.fd, .events = POLLIN};
  int ready;
  do ready = poll(&polled, 1, IDLE_MS);
  while (ready < 0 && errno == EINTR);
  if (ready == 0) fail("no answer");
  ssize_t got = recv(connection.fd, connection.buffer, sizeof connection.buffer, 0);
  connection.at = 0;
  connection.end = got > 0 ? (size_t)got : 0;
  return got;
}

static void need(void) {
  if (connection.at < connection.end) return;
  ssize_t got = fill();
  if (got < 0) fail("%s", strerror(errno));
  if (got == 0) fail("the connection was closed within a response");
}

static void read_line(char line[MOST_LINE]) {
  for (size_t length = 0; length < MOST_LINE; length++) {
    need();
    line[length] = (char)connection.buffer[connection.at++];
    if (line[length] != '\n') continue;
    line[length > 0 && line[length - 1] == '\r' ? length - 1 : length] = 0;
    return;
  }
  fail("a line of the response is too long");
}

static void open_connection(const struct http_address *address) {
  http_drop();
  connection.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection.fd < 0 ||
      connect(connection.fd, (const struct sockaddr *)&address->socket, sizeof address->socket) < 0)
    fail("connect: %s", strerror(errno));
}

/* False: the connection does not take it. */
static bool send_all(const struct text *request) {
  for (size_t sent = 0; sent < request->length;) {
    ssize_t now = send(connection.fd, request->bytes + sent, request->length - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return false;
    sent += (size_t)now;
  }
  return true;
}

/* Sends the request and waits for the response. A kept connection may have been closed: then over a new one. */
static void request(const struct http_address *address, const struct text *request) {
  if (connection.fd >= 0 && send_all(request) && fill() > 0) return;
  open_connection(address);
  if (!send_all(request)) fail("%s", strerror(errno));
  need();
}

static void read_header(struct response *response, const char *line) {
  const char *value = strchr(line, ':');
  if (value == NULL) return;
  size_t name = (size_t)(value - line);
  for (value++; *value == ' ' || *value == '\t';) value++;
  if (name == 14 && strncasecmp(line, "content-length", name) == 0) {
    if (!isdigit((unsigned char)*value)) fail("the response has no valid length");
    response->content_length = strtoll(value, NULL, 10);
  } else if (name == 13 && strncasecmp(line, "content-range", name) == 0) {
    const char *total = strrchr(value, '/');
    if (total != NULL && isdigit((unsigned char)total[1])) response->total = strtoll(total + 1, NULL, 10);
  } else if (name == 17 && strncasecmp(line, "transfer-encoding", name) == 0) {
    if (strcasecmp(value, "chunked") == 0) connection.body = CHUNKED;
  } else if (name == 10 && strncasecmp(line, "connection", name) == 0) {
    if (strcasecmp(value, "close") == 0) connection.close_after = true;
  }
}

static struct response read_head(void) {
  static char line[MOST_LINE];
  struct response response = {.content_length = -1, .total = -1};
  int minor, lines = 0;
  connection.body = NOTHING;
  read_line(line);
  if (sscanf(line, "HTTP/1.%1d %3d", &minor, &response.status) != 2) fail("the response is not HTTP/1.1");
  connection.close_after = minor == 0;
  for (read_line(line); *line != 0; read_line(line)) {
    if (++lines > MOST_LINES) fail("the response has too many headers");
    read_header(&response, line);
  }
  return response;
}

struct response http_get(const struct http_address *address, uint64_t offset, uint32_t length) {
  static struct text text;
  char range[80];
  snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)offset, (unsigned long long)(offset + length - 1));
  const char *parts[] = {"GET ",  address->target.bytes, " HTTP/1.1\r\nrange: bytes=", range,
                         "\r\naccept-encoding: identity\r\nHost: ", address->host.bytes,
                         "\r\nConnection: keep-alive\r\n\r\n"};
  text_clear(&text);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) text_add_string(&text, parts[i]);
  request(address, &text);
  struct response response;
  do response = read_head();
  while (response.status >= 100 && response.status < 200);
  connection.left = 0;
  connection.first_chunk = true;
  if (response.status == 204 || response.status == 304) return response;
  if (connection.body == CHUNKED) return response;
  if (response.content_length < 0) connection.close_after = true;
  connection.body = response.content_length < 0 ? UNTIL_CLOSED : COUNTED;
  connection.left = response.content_length < 0 ? 0 : (uint64_t)response.content_length;
  return response;
}

static uint32_t end_body(void) {
  connection.body = NOTHING;
  if (connection.close_after) http_drop();
  return 0;
}

/* The size of the next chunk; after the last, which is empty, the trailers. */
static void next_chunk(void) {
  static char line[MOST_LINE];
  if (!connection.first_chunk) read_line(line);
  connection.first_chunk = false;
  read_line(line);
  if (!isxdigit((unsigned char)*line)) fail("the response has a chunk without a size");
  connection.left = strtoull(line, NULL, 16);
  if (connection.left != 0) return;
  for (int lines = 0; *line != 0; lines++) {
    if (lines > MOST_LINES) fail("the response has too many trailers");
    read_line(line);
  }
}

uint32_t http_read(uint8_t *into, uint32_t most) {
  if (connection.body == NOTHING) return 0;
  if (connection.body == CHUNKED && connection.left == 0) next_chunk();
  if (connection.body != UNTIL_CLOSED && connection.left == 0) return end_body();
  if (connection.at == connection.end) {
    if (connection.body != UNTIL_CLOSED) need();
    else if (fill() <= 0) return end_body();
  }
  size_t length = connection.end - connection.at;
  if (length > most) length = most;
  if (connection.body != UNTIL_CLOSED && length > connection.left) length = (size_t)connection.left;
  memcpy(into, connection.buffer + connection.at, length);
  connection.at += length;
  connection.left -= connection.body == UNTIL_CLOSED ? 0 : length;
  return (uint32_t)length;
}
