/**
 * One face for the ways in which MediaInfoLib was compiled to WebAssembly: begin, feed, wants, end, inform, version.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '..', 'lib');
const require = createRequire(import.meta.url);
const wasm = join(folder, 'mediainfo.wasm');
const FINISHED = 0x08;

export async function loadLibrary(options) {
  // The loaders that came with these versions take a fetch in Node for a browser's and ask it for a file path.
  delete globalThis.fetch;
  if (existsSync(join(folder, 'official.cjs'))) return official(options);
  if (existsSync(join(folder, 'bundle.cjs'))) return bundle(options);
  return plain(options);
}

/** Formats that a build may have been made without, beside Text, HTML, XML and JSON. */
const EXPORTS = [
  'EBUCore_1.8_ps',
  'EBUCore_1.8_sp',
  'EBUCore_1.8_ps_JSON',
  'EBUCore_1.8_sp_JSON',
  'EBUCore_1.6',
  'FIMS_1.3',
  'MPEG-7_Strict',
  'MPEG-7_Relaxed',
  'MPEG-7_Extended',
  'PBCore_2.1',
  'PBCore_2.0',
  'PBCore_1.2',
  'NISO_Z39.87',
];

/** The output formats of this build. One that is missing prints text instead, which begins with neither bracket. */
export async function outputFormats() {
  const found = ['Text', 'HTML', 'XML', 'JSON'];
  // Each load leaves listeners behind.
  process.setMaxListeners(0);
  for (const output of EXPORTS) {
    const library = await loadLibrary({ output, cover: false, full: false, others: [] });
    library.begin(0, 0);
    library.end();
    if (/^\s*[<{]/.test(library.inform())) found.push(output);
  }
  return found;
}

/** Options of the command line that this build has no entry for. */
export function withoutEffect() {
  if (existsSync(join(folder, 'official.cjs'))) return [];
  return [...(existsSync(join(folder, 'bundle.cjs')) ? ['Full'] : []), 'Language', 'ParseSpeed', 'ReadByHuman'];
}

const quiet = { print: () => {}, printErr: () => {}, locateFile: () => wasm };

/**
 * The bare module: its object takes the output's format, cover data and completeness when it is made, and no other
 * option.
 */
async function plain({ output, cover, full }) {
  const factory = require(join(folder, 'plain.cjs'));
  const module = await (factory.default ?? factory)(quiet);
  return lowerCase(
    () => new module.MediaInfo(output, cover, full),
    (format) => new module.MediaInfo(format, false, false),
  );
}

/** The same, one release line earlier: bundled, and without the setting for completeness. */
async function bundle({ output, cover }) {
  const factory = require(join(folder, 'bundle.cjs'));
  const make = async (format, coverData) => (await factory({ format, coverData, locateFile: () => wasm })).wasmInstance;
  const instance = await make(output, cover);
  return lowerCase(
    () => instance,
    (format) => make(format, false),
  );
}

function lowerCase(make, makeFor) {
  const instance = make();
  return {
    begin: (size, offset) => instance.open_buffer_init(size, offset),
    feed: (chunk) => (instance.open_buffer_continue(chunk, chunk.length) & FINISHED) !== 0,
    wants: () =>
      position(instance.open_buffer_continue_goto_get_lower(), instance.open_buffer_continue_goto_get_upper()),
    end: () => instance.open_buffer_finalize(),
    inform: () => instance.inform(),
    version: async () => versionIn(await makeFor('XML')),
  };
}

/** These builds have no call for the version; every XML document names it. */
function versionIn(instance) {
  instance.open_buffer_init(0, 0);
  instance.open_buffer_finalize();
  return /creatingLibrary version="([^"]+)"/.exec(instance.inform())?.[1] ?? 'unknown';
}

/** 64 bits in two signed halves; -1 is "go on". */
function position(low, high) {
  if (low === -1 && high === -1) return -1;
  return (low < 0 ? low + 2 ** 32 : low) + high * 2 ** 32;
}

/** MediaInfo's own JavaScript build: takes every option, by name. */
async function official({ output, cover, full, others }) {
  const factory = require(join(folder, 'official.cjs'));
  // The module has a `then` that never settles: it must not be what a promise resolves to.
  const { module } = await new Promise((resolve) => {
    const made = factory({ ...quiet, postRun: () => queueMicrotask(() => resolve({ module: made })) });
  });
  const instance = new module.MediaInfo();
  const set = (name, value) => instance.Option(name, value);
  for (const [name, value] of others) set(name, value);
  set('Output', output);
  if (full) set('Complete', '1');
  if (cover) set('Cover_Data', 'base64');
  return {
    begin: (size, offset) => instance.Open_Buffer_Init(size, offset),
    feed: (chunk) => (instance.Open_Buffer_Continue(chunk) & FINISHED) !== 0,
    wants: () => instance.Open_Buffer_Continue_Goto_Get(),
    end: () => instance.Open_Buffer_Finalize(),
    inform: () => instance.Inform(),
    version: async () => String(instance.Option('Info_Version', '')).replace(/^.*v/, ''),
  };
}
