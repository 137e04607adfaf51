/* Access to the module's memory, by the rules of the module. */
#include "module.h"
#include "trap.h"

uint8_t *bytes_at(uint32_t address, uint32_t length) {
  const wasm_rt_memory_t *memory = module_memory();
  if ((uint64_t)address + length > memory->size) wasm_rt_trap(WASM_RT_TRAP_OOB);
  return memory->data + address;
}

uint32_t word_at(uint32_t address) {
  uint32_t value;
  memcpy(&value, bytes_at(address, sizeof value), sizeof value);
  return value;
}

void set_word(uint32_t address, uint32_t value) { memcpy(bytes_at(address, sizeof value), &value, sizeof value); }

uint32_t allocate(uint32_t size) {
  uint32_t address = module_allocate(size);
  if (address == 0) fail("out of memory");
  memset(bytes_at(address, size), 0, size);
  return address;
}
