#!/bin/sh
# Compiles the driver for its VERSION, and links it with the module into /out/bin/mediainfo, static.
# CROSS (aarch64-linux-gnu-): for another architecture than this one, with the compiler of that prefix.
set -eu
cd /build
cc="${CROSS:-}gcc"
runtime=/usr/share/wabt/wasm2c
case "$VERSION" in
  19.09) library="library_options.c" ;;
  *) library="library_plain.c table_calls.c" ;;
esac
$cc -O2 $(cat flags) -fstack-protector-strong -D_FORTIFY_SOURCE=2 -Wall -Wextra -Werror -Wno-unused-parameter \
  -Wno-missing-field-initializers -I. -isystem "$runtime" -c \
  main.c options.c output.c text.c trap.c memory.c embind.c emscripten.c \
  origin.c file_origin.c http_origin.c http.c http_address.c "module_$VERSION.c" $library
$cc -O2 $(cat flags) -w -I"$runtime" -c "$runtime/wasm-rt-impl.c"
mkdir -p /out/bin
$cc $(cat flags) -s ./*.o -lm -o /out/bin/mediainfo
