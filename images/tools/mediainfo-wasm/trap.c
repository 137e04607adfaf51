#include "trap.h"
#include "wasm-rt-impl.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* Beside the module's own reasons. */
enum { FAILED = 1000 };

static char message[512];
static bool attempting;

void fail(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof message, format, values);
  va_end(values);
  if (attempting) WASM_RT_LONGJMP(wasm_rt_jmp_buf, FAILED);
  fprintf(stderr, "E: %s\n", message);
  exit(1);
}

const char *attempt(void (*work)(void)) {
  int reason = wasm_rt_impl_try();
  attempting = reason == 0;
  if (reason != 0) return reason == FAILED ? message : wasm_rt_strerror((wasm_rt_trap_t)reason);
  work();
  attempting = false;
  return NULL;
}

/* wasm2c's runtime aborts where it gets no memory for a module to begin with. */
static void end(int signal) {
  static const char text[] = "E: cannot allocate the memory of the library\n";
  (void)signal;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(1);
  _exit(1);
}

void trap_prepare(void) {
  signal(SIGABRT, end);
  wasm_rt_init();
}
