#!/bin/sh
# Translates module.wasm to C, and compiles that. CROSS (aarch64-linux-gnu-): for another architecture than this one.
set -eu
cd /build
wasm2c module.wasm -n mediainfo -o translated.c
# An access outside of the module's memory meets a guard page, so none may be left out or joined for what its type would
# allow. A recursion without end meets the guard page of the stack, which no frame steps over. Fused operations would
# round otherwise than WebAssembly does.
"${CROSS:-}gcc" -O1 $(cat flags) -w -fno-strict-aliasing -ffp-contract=off -c translated.c -o translated.o
rm translated.c
