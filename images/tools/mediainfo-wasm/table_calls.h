/* Calls through the function table of a module that exports it. */
#ifndef TABLE_CALLS_H
#define TABLE_CALLS_H

#include "wasm-rt.h"

wasm_rt_funcref_table_t *module_table(void);

#endif
