/*
 * The module of MediaInfo 19.09, made by an older compiler: memory, table and stack are imports, the memory does not
 * grow, and functions are called by exports, one for each type.
 */
#include "embind.h"
#include "emscripten.h"
#include "library.h"
#include "module.h"
#include "translated.h"
#include "trap.h"
#include <math.h>

const char *const without_effect = "";

#define PAGES 2048
#define FUNCTIONS 2018
/* As the loader that came with the module lays out its memory: its data, the stack, the heap. */
enum { DATA = 1024, DSO_HANDLE = 665520, HEAP_POINTER = 666816, STACK = 666832, STACK_END = 5909712 };

static Z_mediainfo_instance_t instance;
static wasm_rt_memory_t memory;
static wasm_rt_funcref_table_t table;

void module_start(void) {
  if (memory.data == NULL) {
    Z_mediainfo_init_module();
  } else {
    wasm_rt_free_funcref_table(&table);
    wasm_rt_free_memory(&memory);
  }
  embind_forget();
  wasm_rt_allocate_memory(&memory, PAGES, PAGES);
  wasm_rt_allocate_funcref_table(&table, FUNCTIONS, FUNCTIONS);
  set_word(HEAP_POINTER, STACK_END);
  Z_mediainfo_instantiate(&instance, NULL, NULL, NULL);
  Z_mediainfoZ___GLOBAL__sub_I_MediaInfoJS_cpp(&instance);
  Z_mediainfoZ___GLOBAL__sub_I_MediaInfo_Config_cpp(&instance);
  Z_mediainfoZ___GLOBAL__sub_I_InfoMap_cpp(&instance);
  Z_mediainfoZ___GLOBAL__sub_I_Z5Atring_cpp(&instance);
  Z_mediainfoZ___GLOBAL__sub_I_bind_cpp(&instance);
}

wasm_rt_memory_t *module_memory(void) { return &memory; }
uint32_t module_allocate(uint32_t size) { return Z_mediainfoZ__malloc(&instance, size); }
void module_release(uint32_t address) { Z_mediainfoZ__free(&instance, address); }

uint32_t call_ii(uint32_t function, uint32_t a) { return Z_mediainfoZ_dynCall_ii(&instance, function, a); }
uint32_t call_iii(uint32_t function, uint32_t a, uint32_t b) {
  return Z_mediainfoZ_dynCall_iii(&instance, function, a, b);
}
uint32_t call_iiii(uint32_t function, uint32_t a, uint32_t b, uint32_t c) {
  return Z_mediainfoZ_dynCall_iiii(&instance, function, a, b, c);
}
uint32_t call_iiiii(uint32_t function, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return Z_mediainfoZ_dynCall_iiiii(&instance, function, a, b, c, d);
}
uint32_t call_iiidd(uint32_t function, uint32_t a, uint32_t b, double c, double d) {
  return Z_mediainfoZ_dynCall_iiidd(&instance, function, a, b, c, d);
}
double call_dii(uint32_t function, uint32_t a, uint32_t b) {
  return Z_mediainfoZ_dynCall_dii(&instance, function, a, b);
}

#define ENV struct Z_env_instance_t *env

wasm_rt_memory_t *Z_envZ_memory(ENV) { return &memory; }
wasm_rt_funcref_table_t *Z_envZ_table(ENV) { return &table; }

/* Globals that never change. */
#define CONSTANT(type, name, owner, value)          \
  type *name(struct Z_##owner##_instance_t *of) {   \
    static type constant = value;                   \
    return &constant;                               \
  }
CONSTANT(u32, Z_envZ_DYNAMICTOP_PTR, env, HEAP_POINTER)
CONSTANT(u32, Z_envZ_STACKTOP, env, STACK)
CONSTANT(u32, Z_envZ_STACK_MAX, env, STACK_END)
CONSTANT(u32, Z_envZ____dso_handle, env, DSO_HANDLE)
CONSTANT(u32, Z_envZ_memoryBase, env, DATA)
CONSTANT(u32, Z_envZ_tableBase, env, 0)
CONSTANT(f64, Z_globalZ_Infinity, global, INFINITY)
CONSTANT(f64, Z_globalZ_NaN, global, NAN)

void Z_envZ___embind_register_std_string(ENV, u32 type, u32 name) { embind_string(type, 1); }
void Z_envZ___embind_register_std_wstring(ENV, u32 type, u32 width, u32 name) { embind_string(type, width); }
void Z_envZ___embind_register_class_constructor(ENV, u32 class, u32 count, u32 types, u32 signature, u32 invoker,
                                                u32 callee) {
  embind_constructor(count, types, invoker, callee);
}
void Z_envZ___embind_register_class_function(ENV, u32 class, u32 name, u32 count, u32 types, u32 signature, u32 invoker,
                                             u32 callee, u32 is_virtual) {
  embind_method(name, count, types, invoker, callee);
}

/* What nothing here needs to know. */
void Z_envZ___embind_register_void(ENV, u32 a, u32 b) {}
void Z_envZ___embind_register_bool(ENV, u32 a, u32 b, u32 c, u32 d, u32 e) {}
void Z_envZ___embind_register_integer(ENV, u32 a, u32 b, u32 c, u32 d, u32 e) {}
void Z_envZ___embind_register_float(ENV, u32 a, u32 b, u32 c) {}
void Z_envZ___embind_register_emval(ENV, u32 a, u32 b) {}
void Z_envZ___embind_register_memory_view(ENV, u32 a, u32 b, u32 c) {}
void Z_envZ___embind_register_enum(ENV, u32 a, u32 b, u32 c, u32 d) {}
void Z_envZ___embind_register_enum_value(ENV, u32 a, u32 b, u32 c) {}
void Z_envZ___embind_register_class(ENV, u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g, u32 h, u32 i, u32 j, u32 k,
                                    u32 l, u32 m) {}
void Z_envZ___embind_register_class_class_function(ENV, u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g) {}

/* One thread, nothing to lock; EAGAIN: another cannot be had. */
void Z_envZ____lock(ENV, u32 lock) {}
void Z_envZ____unlock(ENV, u32 lock) {}
u32 Z_envZ__pthread_attr_init(ENV, u32 a) { return 0; }
u32 Z_envZ__pthread_attr_setdetachstate(ENV, u32 a, u32 b) { return 0; }
u32 Z_envZ__pthread_cond_wait(ENV, u32 a, u32 b) { return 0; }
u32 Z_envZ__pthread_create(ENV, u32 a, u32 b, u32 c, u32 d) { return 11; }
u32 Z_envZ__pthread_mutex_init(ENV, u32 a, u32 b) { return 0; }
u32 Z_envZ__pthread_mutex_destroy(ENV, u32 a) { return 0; }

void Z_envZ_abort(ENV, u32 reason) { module_aborts(); }
void Z_envZ__abort(ENV) { module_aborts(); }
void Z_envZ____cxa_pure_virtual(ENV) { module_aborts(); }
u32 Z_envZ_abortOnCannotGrowMemory(ENV) { fail("out of memory"); }
u32 Z_envZ_enlargeMemory(ENV) { fail("out of memory"); }
u32 Z_envZ_getTotalMemory(ENV) { return memory.size; }
u32 Z_envZ____cxa_atexit(ENV, u32 function, u32 argument, u32 handle) { return 0; }
u32 Z_envZ___Z5ASt18uncaught_exceptionv(ENV) { return 0; }
void Z_envZ____setErrNo(ENV, u32 number) {}
u32 Z_envZ____map_file(ENV, u32 a, u32 b) { return UINT32_MAX; }
u32 Z_envZ____syscall91(ENV, u32 a, u32 b) { return 0; }
u32 Z_envZ__getenv(ENV, u32 name) { return 0; }

u32 Z_envZ__emscripten_memcpy_big(ENV, u32 to, u32 from, u32 length) {
  copy(to, from, length);
  return to;
}
u32 Z_envZ__time(ENV, u32 at) { return now_seconds(at); }
u32 Z_envZ__gmtime(ENV, u32 seconds) {
  return fill_gmt((int32_t)word_at(seconds), allocate(GMT_BYTES));
}
u32 Z_envZ__strftime_l(ENV, u32 into, u32 most, u32 format, u32 tm, u32 locale) {
  return format_time(into, most, format, tm);
}
f64 Z_envZ__llvm_exp2_f64(ENV, f64 value) { return exp2(value); }
f64 Z_globalZ2EMathZ_pow(struct Z_globalZ2EMath_instance_t *math, f64 base, f64 exponent) {
  return pow(base, exponent);
}
