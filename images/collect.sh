#!/bin/sh
# collect.sh ROOT FILE...: copies programs and libraries into ROOT at their own places, with every library they need and the loader.
set -eu
root=$1
shift
for file in "$@"; do
  mkdir -p "$root$(dirname "$file")"
  cp -L "$file" "$root$file"
  for library in $(ldd "$file" | sed -nE 's/.* => (\/[^ ]+) .*/\1/p; s/^[[:space:]]*(\/[^ ]+) .*/\1/p'); do
    [ -e "$root$library" ] && continue
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
done
