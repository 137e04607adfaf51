/* The module of MediaInfo 24.06: its imports have names. */
#include "embind.h"
#include "emscripten.h"
#include "library.h"
#include "module.h"
#include "table_calls.h"
#include "translated.h"

const char *const without_effect = "Language, ParseSpeed, ReadByHuman";

static Z_mediainfo_instance_t instance;
static bool started;

void module_start(void) {
  if (started) Z_mediainfo_free(&instance);
  else Z_mediainfo_init_module();
  started = true;
  embind_forget();
  Z_mediainfo_instantiate(&instance, NULL, NULL);
  Z_mediainfoZ___wasm_call_ctors(&instance);
}

wasm_rt_memory_t *module_memory(void) { return Z_mediainfoZ_memory(&instance); }
wasm_rt_funcref_table_t *module_table(void) { return Z_mediainfoZ___indirect_function_table(&instance); }
uint32_t module_allocate(uint32_t size) { return Z_mediainfoZ_malloc(&instance, size); }
void module_release(uint32_t address) { Z_mediainfoZ_free(&instance, address); }

#define ENV struct Z_env_instance_t *env
#define WASI struct Z_wasi_snapshot_preview1_instance_t *wasi

void Z_envZ__embind_register_std_string(ENV, u32 type, u32 name) { embind_string(type, 1); }
void Z_envZ__embind_register_std_wstring(ENV, u32 type, u32 width, u32 name) { embind_string(type, width); }
void Z_envZ__embind_register_class_constructor(ENV, u32 class, u32 count, u32 types, u32 signature, u32 invoker,
                                               u32 callee) {
  embind_constructor(count, types, invoker, callee);
}
void Z_envZ__embind_register_class_function(ENV, u32 class, u32 name, u32 count, u32 types, u32 signature, u32 invoker,
                                            u32 callee, u32 is_virtual, u32 is_async) {
  embind_method(name, count, types, invoker, callee);
}

/* What nothing here needs to know. */
void Z_envZ__embind_register_void(ENV, u32 a, u32 b) {}
void Z_envZ__embind_register_bool(ENV, u32 a, u32 b, u32 c, u32 d) {}
void Z_envZ__embind_register_integer(ENV, u32 a, u32 b, u32 c, u32 d, u32 e) {}
void Z_envZ__embind_register_bigint(ENV, u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g) {}
void Z_envZ__embind_register_float(ENV, u32 a, u32 b, u32 c) {}
void Z_envZ__embind_register_emval(ENV, u32 a) {}
void Z_envZ__embind_register_memory_view(ENV, u32 a, u32 b, u32 c) {}
void Z_envZ__embind_register_class(ENV, u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g, u32 h, u32 i, u32 j, u32 k,
                                   u32 l, u32 m) {}

void Z_envZ__abort_js(ENV) { module_aborts(); }
void Z_envZ__emscripten_memcpy_js(ENV, u32 to, u32 from, u32 length) { copy(to, from, length); }
u32 Z_envZ_emscripten_resize_heap(ENV, u32 size) { return grow_to(size); }
f64 Z_envZ_emscripten_date_now(ENV) { return now_ms(); }
u32 Z_envZ_strftime_l(ENV, u32 into, u32 most, u32 format, u32 tm, u32 locale) {
  return format_time(into, most, format, tm);
}
/* The halves of a 64-bit number of seconds. */
void Z_envZ__gmtime_js(ENV, u32 low, u32 high, u32 tm) { fill_time((int64_t)((uint64_t)high << 32 | low), tm); }
void Z_envZ__tzset_js(ENV, u32 offset, u32 daylight, u32 name, u32 summer_name) {
  set_word(offset, 0);
  set_word(daylight, 0);
  memcpy(bytes_at(name, 4), "UTC", 4);
  memcpy(bytes_at(summer_name, 4), "UTC", 4);
}

u32 Z_wasi_snapshot_preview1Z_environ_get(WASI, u32 pointers, u32 strings) { return 0; }
u32 Z_wasi_snapshot_preview1Z_environ_sizes_get(WASI, u32 count, u32 size) {
  set_word(count, 0);
  set_word(size, 0);
  return 0;
}
