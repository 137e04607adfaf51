#include "table_calls.h"
#include "module.h"

#define I WASM_RT_I32
#define D WASM_RT_F64

/* A function of another type is a trap, as it is for the module's own calls. */
static const wasm_rt_funcref_t *entry(uint32_t function, uint32_t type) {
  const wasm_rt_funcref_table_t *table = module_table();
  if (function >= table->size || table->data[function].func == NULL || table->data[function].func_type != type)
    wasm_rt_trap(WASM_RT_TRAP_CALL_INDIRECT);
  return &table->data[function];
}

uint32_t call_ii(uint32_t function, uint32_t a) {
  const wasm_rt_funcref_t *to = entry(function, wasm_rt_register_func_type(1, 1, I, I));
  return ((uint32_t(*)(void *, uint32_t))to->func)(to->module_instance, a);
}

uint32_t call_iii(uint32_t function, uint32_t a, uint32_t b) {
  const wasm_rt_funcref_t *to = entry(function, wasm_rt_register_func_type(2, 1, I, I, I));
  return ((uint32_t(*)(void *, uint32_t, uint32_t))to->func)(to->module_instance, a, b);
}

uint32_t call_iiii(uint32_t function, uint32_t a, uint32_t b, uint32_t c) {
  const wasm_rt_funcref_t *to = entry(function, wasm_rt_register_func_type(3, 1, I, I, I, I));
  return ((uint32_t(*)(void *, uint32_t, uint32_t, uint32_t))to->func)(to->module_instance, a, b, c);
}

uint32_t call_iiiii(uint32_t function, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const wasm_rt_funcref_t *to = entry(function, wasm_rt_register_func_type(4, 1, I, I, I, I, I));
  return ((uint32_t(*)(void *, uint32_t, uint32_t, uint32_t, uint32_t))to->func)(to->module_instance, a, b, c, d);
}

uint32_t call_iiidd(uint32_t function, uint32_t a, uint32_t b, double c, double d) {
  const wasm_rt_funcref_t *to = entry(function, wasm_rt_register_func_type(4, 1, I, I, D, D, I));
  return ((uint32_t(*)(void *, uint32_t, uint32_t, double, double))to->func)(to->module_instance, a, b, c, d);
}

uint32_t call_iiiid(uint32_t function, uint32_t a, uint32_t b, uint32_t c, double d) {
  const wasm_rt_funcref_t *to = entry(function, wasm_rt_register_func_type(4, 1, I, I, I, D, I));
  return ((uint32_t(*)(void *, uint32_t, uint32_t, uint32_t, double))to->func)(to->module_instance, a, b, c, d);
}
