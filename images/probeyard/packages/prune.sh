#!/bin/sh
# prune.sh node_modules: removes what packages carry for people, editors and their own tests. None of it is ever loaded.
set -eu
cd "$1"
find . -type f \( -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' -o -name '*.map' -o -name '*.md' \
  -o -name '*.markdown' -o -name '*.flow' -o -name 'tsconfig*.json' -o -name '.eslintrc*' \
  -o -name '.package-lock.json' -o -name '*.tsbuildinfo' \) ! -iname 'license*' -delete
find . -type d \( -name .github -o -name test -o -name tests -o -name __tests__ -o -name docs -o -name example \
  -o -name examples -o -name benchmark -o -name benchmarks \) -prune -exec rm -rf {} +
# Types, and binaries for another JavaScript runtime than Node.
rm -rf .bin @types
find . -type d -name prebuilds -path './bare-*' -prune -exec rm -rf {} +
find . -type d -empty -delete
