/* The module of MediaInfo 21.09: its imports and exports are one letter each. */
#include "embind.h"
#include "emscripten.h"
#include "library.h"
#include "module.h"
#include "table_calls.h"
#include "translated.h"

const char *const without_effect = "Full, Language, ParseSpeed, ReadByHuman";

static Z_mediainfo_instance_t instance;
static bool started;

void module_start(void) {
  if (started) Z_mediainfo_free(&instance);
  else Z_mediainfo_init_module();
  started = true;
  embind_forget();
  Z_mediainfo_instantiate(&instance, NULL);
  Z_mediainfoZ_w(&instance);
}

wasm_rt_memory_t *module_memory(void) { return Z_mediainfoZ_v(&instance); }
wasm_rt_funcref_table_t *module_table(void) { return Z_mediainfoZ_y(&instance); }
uint32_t module_allocate(uint32_t size) { return Z_mediainfoZ_x(&instance, size); }
void module_release(uint32_t address) { Z_mediainfoZ_z(&instance, address); }

#define ENV struct Z_a_instance_t *env

/* std::string, std::wstring, the constructor, a method. */
void Z_aZ_f(ENV, u32 type, u32 name) { embind_string(type, 1); }
void Z_aZ_e(ENV, u32 type, u32 width, u32 name) { embind_string(type, width); }
void Z_aZ_t(ENV, u32 class, u32 count, u32 types, u32 signature, u32 invoker, u32 callee) {
  embind_constructor(count, types, invoker, callee);
}
void Z_aZ_d(ENV, u32 class, u32 name, u32 count, u32 types, u32 signature, u32 invoker, u32 callee, u32 is_virtual) {
  embind_method(name, count, types, invoker, callee);
}

/* What nothing here needs to know: memory views, integers, floats, bool, void, 64-bit integers, values, the class. */
void Z_aZ_a(ENV, u32 a, u32 b, u32 c) {}
void Z_aZ_b(ENV, u32 a, u32 b, u32 c, u32 d, u32 e) {}
void Z_aZ_j(ENV, u32 a, u32 b, u32 c) {}
void Z_aZ_k(ENV, u32 a, u32 b, u32 c, u32 d, u32 e) {}
void Z_aZ_l(ENV, u32 a, u32 b) {}
void Z_aZ_n(ENV, u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g) {}
void Z_aZ_s(ENV, u32 a, u32 b) {}
void Z_aZ_u(ENV, u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g, u32 h, u32 i, u32 j, u32 k, u32 l, u32 m) {}

/* __cxa_allocate_exception: behind the header that C++ keeps of it. __cxa_throw: nothing catches. */
u32 Z_aZ_h(ENV, u32 size) { return allocate(size + 16) + 16; }
void Z_aZ_g(ENV, u32 exception, u32 type, u32 destructor) { wasm_rt_trap(WASM_RT_TRAP_UNCAUGHT_EXCEPTION); }

void Z_aZ_i(ENV) { module_aborts(); }
u32 Z_aZ_o(ENV, u32 size) { return grow_to(size); }
u32 Z_aZ_c(ENV, u32 at) { return now_seconds(at); }
u32 Z_aZ_m(ENV, u32 seconds, u32 tm) { return fill_gmt((int32_t)word_at(seconds), tm); }
u32 Z_aZ_p(ENV, u32 into, u32 most, u32 format, u32 tm, u32 locale) { return format_time(into, most, format, tm); }

/* environ_get, environ_sizes_get */
u32 Z_aZ_q(ENV, u32 pointers, u32 strings) { return 0; }
u32 Z_aZ_r(ENV, u32 count, u32 size) {
  set_word(count, 0);
  set_word(size, 0);
  return 0;
}
