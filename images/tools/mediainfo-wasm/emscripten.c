#define _GNU_SOURCE
#include "emscripten.h"
#include "module.h"
#include "trap.h"
#include <stdlib.h>
#include <time.h>

#define PAGE 65536u
/* Each growth is a system call, so it is by a fifth more than asked where that is to be had. */
#define MOST_AHEAD (96u << 20)

static uint32_t grow_by(uint64_t bytes) {
  uint32_t pages = (uint32_t)((bytes + PAGE - 1) / PAGE);
  return wasm_rt_grow_memory(module_memory(), pages) != UINT32_MAX;
}

/* The module itself says how much memory it may have (2 GB); the limit of the process comes before. */
uint32_t grow_to(uint32_t size) {
  uint32_t had = module_memory()->size, ahead = had / 5 < MOST_AHEAD ? had / 5 : MOST_AHEAD;
  if (size <= had) return 1;
  return grow_by((uint64_t)size - had + ahead) || grow_by((uint64_t)size - had);
}

double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec * 1000 + (double)(now.tv_nsec / 1000000);
}

uint32_t now_seconds(uint32_t at) {
  uint32_t now = (uint32_t)time(NULL);
  if (at != 0) set_word(at, now);
  return now;
}

/* The fields of struct tm before `tm_gmtoff` have the same order and size here and in the module. */
enum { TIME_FIELDS = 9, ISDST = 8, GMTOFF = 9, ZONE = 10 };

void fill_time(int64_t seconds, uint32_t tm) {
  struct tm parts = {0};
  time_t when = (time_t)seconds;
  gmtime_r(&when, &parts);
  const int fields[] = {parts.tm_sec,  parts.tm_min,  parts.tm_hour, parts.tm_mday,
                        parts.tm_mon,  parts.tm_year, parts.tm_wday, parts.tm_yday};
  for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++) set_word(tm + 4 * i, (uint32_t)fields[i]);
}

uint32_t fill_gmt(int64_t seconds, uint32_t tm) {
  uint32_t zone = allocate(4);
  memcpy(bytes_at(zone, 4), "GMT", 4);
  fill_time(seconds, tm);
  set_word(tm + 4 * ISDST, 0);
  set_word(tm + 4 * GMTOFF, 0);
  set_word(tm + 4 * ZONE, zone);
  return tm;
}

uint32_t format_time(uint32_t into, uint32_t most, uint32_t format, uint32_t tm) {
  int field[TIME_FIELDS];
  memcpy(field, bytes_at(tm, sizeof field), sizeof field);
  struct tm parts = {.tm_sec = field[0],  .tm_min = field[1],  .tm_hour = field[2],
                     .tm_mday = field[3], .tm_mon = field[4],  .tm_year = field[5],
                     .tm_wday = field[6], .tm_yday = field[7], .tm_isdst = field[8]};
  char wanted[256];
  for (size_t i = 0;; i++) {
    if (i == sizeof wanted) return 0;
    if ((wanted[i] = (char)*bytes_at(format + (uint32_t)i, 1)) == 0) break;
  }
  return (uint32_t)strftime((char *)bytes_at(into, most), most, wanted, &parts);
}

void copy(uint32_t to, uint32_t from, uint32_t length) {
  memmove(bytes_at(to, length), bytes_at(from, length), length);
}

void module_aborts(void) { fail("the library aborted"); }
