#!/bin/sh
# Builds ffprobe alone, static, into /out/bin. What it can read: every demuxer, decoder and parser that FFmpeg itself has, with
# zlib, bzip2, lzma, libxml2 (DASH) and libsrt. What it leaves out: encoders, muxers, filters, devices, hardware, TLS: tools are
# handed plain http on 127.0.0.1. Static, because a start takes 1 ms instead of the 105 ms of a build with 200 libraries.
# CROSS (aarch64-linux-gnu-): compiled for another architecture than this one, with the programs of that prefix.
set -eu
cd /build
cross=${CROSS:-}
target=""
if [ -n "$cross" ]; then
  export PKG_CONFIG_LIBDIR="/usr/lib/${cross%-}/pkgconfig:/usr/share/pkgconfig"
  target="--enable-cross-compile --cross-prefix=$cross --arch=${cross%%-*} --target-os=linux --pkg-config=pkg-config"
fi
mkdir -p source deps
tar -xf ffmpeg.tar -C source --strip-components=1

xml=$(pkg-config --modversion libxml-2.0)
srt=$(pkg-config --modversion srt)
# Debian's static libxml2 wants ICU for exotic encodings, whose data alone is 30 MB. An ICU that knows no encoding is enough.
icu=$("${cross}nm" -u "/usr/lib/$("${cross}gcc" -print-multiarch)/libxml2.a" 2>/dev/null | sed -n 's/.*ucnv_open\(_[0-9]*\)$/\1/p' | head -1)
"${cross}gcc" -O2 -DICU="$icu" -c icu_stub.c -o deps/icu_stub.o
"${cross}ar" rcs deps/libicustub.a deps/icu_stub.o
cat > deps/libxml-2.0.pc <<PC
Name: libxml-2.0
Description: XML
Version: $xml
Cflags: -I/usr/include/libxml2
Libs: -L/build/deps -lxml2 -licustub -lz -llzma -lm -lpthread
PC
cat > deps/srt.pc <<PC
Name: srt
Description: SRT
Version: $srt
Cflags: -I/usr/include/srt
Libs: -lsrt -lstdc++ -lcrypto -lm -lpthread
PC
export PKG_CONFIG_PATH=/build/deps

# What a release does not know yet (libsrt and DASH came with 4.0) or any more would end its configure.
options=""
for option in --disable-autodetect --enable-libxml2 --enable-libsrt --disable-postproc; do
  if grep -q -e "$option" source/configure; then options="$options $option"; fi
done

compile() {
  rm -rf work && mkdir work && cd work
  ../source/configure --prefix=/ $target $options --enable-zlib --enable-bzlib --enable-lzma "$@" \
    --enable-gpl --enable-version3 --pkg-config-flags=--static --extra-cflags=-w --extra-ldflags=-static --extra-libs='-lpthread -lm' \
    --disable-debug --disable-doc --disable-programs --enable-ffprobe \
    --disable-encoders --disable-muxers --disable-filters --disable-devices > configure.log 2>&1 || { tail -5 configure.log ffbuild/config.log; return 1; }
  make -j"${JOBS:-2}" ffprobe > make.log 2>&1 || { tail -20 make.log; return 1; }
}
# The assembly of old releases is written for older assemblers: where it does not pass, plain C gives the same answers.
(compile) || { echo "once more, without assembly"; (compile --disable-asm); }

mkdir -p /out/bin
cp work/ffprobe /out/bin/ffprobe
"${cross}strip" /out/bin/ffprobe
/out/bin/ffprobe -version
