#include "http_address.h"
#include "trap.h"
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void add_encoded(struct text *text, const char *bytes, size_t length, const char *also) {
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)bytes[i];
    char encoded[4];
    if (c == '\t' || c == '\n' || c == '\r') continue;
    snprintf(encoded, sizeof encoded, "%%%02X", (unsigned)c);
    if (c <= ' ' || c > '~' || strchr(also, c) != NULL) text_add(text, encoded, 3);
    else text_add(text, bytes + i, 1);
  }
}

/* A tool reaches its proxy alone, by number: names are not looked up. */
static struct sockaddr_in socket_of(const char *host, size_t length, unsigned long port) {
  char name[64];
  struct sockaddr_in found = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  snprintf(name, sizeof name, "%.*s", (int)length, host);
  if (strcasecmp(name, "localhost") == 0) strcpy(name, "127.0.0.1");
  if (length >= sizeof name || inet_pton(AF_INET, name, &found.sin_addr) != 1)
    fail("the host of an address has to be an IPv4 address or localhost");
  return found;
}

struct http_address read_http_address(const char *address) {
  const char *host = address + strlen("http://");
  size_t host_length = strcspn(host, ":/?#"), authority = strcspn(host, "/?#");
  unsigned long port = 80;
  if (authority > host_length + 1) {
    char *end;
    port = strtoul(host + host_length + 1, &end, 10);
    if (end != host + authority || port == 0 || port > 65535) fail("the port of an address has to be a number");
  }
  struct http_address read = {.socket = socket_of(host, host_length, port)};
  text_add(&read.host, host, port == 80 ? host_length : authority);
  const char *path = host + authority;
  size_t path_length = strcspn(path, "?#");
  if (path_length == 0) text_add_string(&read.target, "/");
  add_encoded(&read.target, path, path_length, "\"<>^`{}");
  const char *query = path + path_length;
  if (*query == '?') add_encoded(&read.target, query, strcspn(query, "#"), "\"<>'");
  return read;
}
