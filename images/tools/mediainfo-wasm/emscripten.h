/*
 * What a module asks of its surroundings, for all three. There is no environment, no file, and no time zone but UTC.
 */
#ifndef EMSCRIPTEN_H
#define EMSCRIPTEN_H

#include <stdint.h>

/* 1: the memory has at least this size now. */
uint32_t grow_to(uint32_t size);
double now_ms(void);
/* Seconds, which are also stored unless `at` is 0. */
uint32_t now_seconds(uint32_t at);
/* Fills the fields of a C library's struct tm, but for those of daylight saving and zone. */
void fill_time(int64_t seconds, uint32_t tm);
/* The same with these. */
#define GMT_BYTES 44
uint32_t fill_gmt(int64_t seconds, uint32_t tm);
uint32_t format_time(uint32_t into, uint32_t most, uint32_t format, uint32_t tm);
void copy(uint32_t to, uint32_t from, uint32_t length);
__attribute__((noreturn)) void module_aborts(void);

#endif
