/*
 * The library's module as C: its memory, and calls into it. A file beside this one for each of the three modules, which
 * have other imports and exports.
 */
#ifndef MODULE_H
#define MODULE_H

#include "wasm-rt.h"

/* A new instance, with fresh memory, whose constructors have run. The one before is gone. */
void module_start(void);

wasm_rt_memory_t *module_memory(void);
uint32_t module_allocate(uint32_t size);
void module_release(uint32_t address);

/* Calls of a function of the module's table, named by result and arguments: i 32 bits, d a double. */
uint32_t call_ii(uint32_t function, uint32_t a);
uint32_t call_iii(uint32_t function, uint32_t a, uint32_t b);
uint32_t call_iiii(uint32_t function, uint32_t a, uint32_t b, uint32_t c);
uint32_t call_iiiii(uint32_t function, uint32_t a, uint32_t b, uint32_t c, uint32_t d);
uint32_t call_iiidd(uint32_t function, uint32_t a, uint32_t b, double c, double d);
uint32_t call_iiiid(uint32_t function, uint32_t a, uint32_t b, uint32_t c, double d);
double call_dii(uint32_t function, uint32_t a, uint32_t b);

/* Bytes of the module's memory. A trap where they are not all in it. */
uint8_t *bytes_at(uint32_t address, uint32_t length);
uint32_t word_at(uint32_t address);
void set_word(uint32_t address, uint32_t value);
/* Memory of the module, zeroed. */
uint32_t allocate(uint32_t size);

#endif
