/* GET by HTTP/1.1 over one connection, which is kept from request to request. */
#ifndef HTTP_H
#define HTTP_H

#include "http_address.h"
#include <stdbool.h>
#include <stdint.h>

struct response {
  int status;
  /* -1: it is not said. */
  int64_t content_length;
  int64_t total; /* of Content-Range */
};

/* Asks for bytes from `offset` on, and reads the head of the response. */
struct response http_get(const struct http_address *address, uint64_t offset, uint32_t length);

/* Reads of the body up to `most` bytes; 0: it has ended. */
uint32_t http_read(uint8_t *into, uint32_t most);

/* Nothing more is read of the response; the next request opens another connection. */
void http_drop(void);

#endif
