/**
 * Files that still have lines of more than 120 columns: recipes, whose bytes are part of the key of what is built, so
 * that wrapping a line builds images anew (the tools for hours). Wrap them with the next change of a recipe.
 */
export const STILL_WIDE: readonly string[] = [
  'images/bundled/Dockerfile',
  'images/collect.sh',
  'images/nats/Dockerfile',
  'images/postgres/Dockerfile',
  'images/postgres/entrypoint.sh',
  'images/postgres/roles.sql',
  'images/tools/c2pa/fixtures/sign.rs',
  'images/tools/c2pa/src/config.rs',
  'images/tools/c2pa/src/format.rs',
  'images/tools/c2pa/src/http.rs',
  'images/tools/c2pa/src/main.rs',
  'images/tools/c2pa/src/memory.rs',
  'images/tools/c2pa/src/source.rs',
  'images/tools/ffmpeg-source/Dockerfile',
  'images/tools/ffmpeg-source/build.sh',
  'images/tools/ffmpeg-source/icu_stub.c',
  'images/tools/mediainfo-source/Dockerfile',
  'images/tools/mediainfo-source/build.sh',
];
