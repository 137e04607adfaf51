#!/bin/sh
# Builds MediaInfo's command line with ZenLib and MediaInfoLib inside it, into /out: bin/mediainfo, lib/ with what it links to and the loader.
# libcurl, by which it reads http, stays a shared library: a static one would have to be built with all that it links to.
set -eu
cd /build
for part in libzen libmediainfo mediainfo; do mkdir -p $part && tar -xf $part.tar -C $part --strip-components=1; done
# The three look for each other beside themselves, under these names.
mv libzen ZenLib; mv libmediainfo MediaInfoLib; mv mediainfo MediaInfo
export CXXFLAGS="-O2 -w"

# $1 folder, then options of configure
build() {
  cd "/build/$1"
  shift
  sh autogen.sh > autogen.log 2>&1 || { tail -20 autogen.log; exit 1; }
  ./configure --disable-shared --enable-static "$@" > configure.log 2>&1 || { tail -20 configure.log; exit 1; }
  make -j"${JOBS:-2}" > make.log 2>&1 || { tail -30 make.log; exit 1; }
}
build ZenLib/Project/GNU/Library
tinyxml=""
[ -d /build/MediaInfoLib/Source/ThirdParty/tinyxml2 ] || tinyxml="--with-libtinyxml2"
build MediaInfoLib/Project/GNU/Library --with-libcurl $tinyxml
build MediaInfo/Project/GNU/CLI --enable-staticlibs

mkdir -p /out/bin /out/lib
cp /build/MediaInfo/Project/GNU/CLI/mediainfo /out/bin/mediainfo
strip /out/bin/mediainfo
ldd /out/bin/mediainfo | sed -nE 's/^[[:space:]]*(\S+) => (\/\S+) .*/\1 \2/p' | while read -r name file; do cp -L "$file" "/out/lib/$name"; done
cp -L /lib64/ld-linux-x86-64.so.2 /out/lib/
/out/lib/ld-linux-x86-64.so.2 --library-path /out/lib /out/bin/mediainfo --Version
