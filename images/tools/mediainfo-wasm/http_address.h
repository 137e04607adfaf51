/* The parts of an http address, as a request names them. */
#ifndef HTTP_ADDRESS_H
#define HTTP_ADDRESS_H

#include "text.h"
#include <netinet/in.h>

struct http_address {
  struct sockaddr_in socket;
  struct text host; /* with its port, for the header */
  struct text target; /* path and query, encoded */
};

struct http_address read_http_address(const char *address);

#endif
