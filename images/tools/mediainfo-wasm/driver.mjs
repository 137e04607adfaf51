/**
 * The command line of MediaInfo for versions that exist only as WebAssembly. Takes the options of the real one that a
 * caller can set; those that the compiled library has no entry for are accepted and change nothing (--Help says which).
 * Unlike the real one it ends with 1 when nothing could be read; what it prints then is the same.
 */
import { loadLibrary, outputFormats, withoutEffect } from './library.mjs';
import { openOrigin } from './origin.mjs';
import { emptyOutput, withAddress } from './output.mjs';

const USAGE = `Usage: mediainfo [options] FILE_OR_HTTP_ADDRESS
  --Output=FORMAT    JSON, XML, Text, HTML and what else this version of the library knows
  --Inform=TEMPLATE  the same option, by its other name
  --Full, -f         everything, internal fields too
  --Cover_Data=base64
  --Language=raw, --ParseSpeed=0..1 and others: passed on where the library takes options, else without effect
  --Version, --Help
  --Info_OutputFormats
`;

const lacking = () => (withoutEffect().length > 0 ? `Without effect: ${withoutEffect().join(', ')}\n` : '');

process.exitCode = await main(readArguments(process.argv.slice(2)));

async function main({ help, version, formats, address, ...options }) {
  if (help) return print(`${USAGE}${lacking()}`, 0);
  if (formats) return print(`${(await outputFormats()).join('\n')}\n`, 0);
  if (version)
    return print(`MediaInfo Command line, \nMediaInfoLib - v${await (await loadLibrary(options)).version()}\n`, 0);
  if (address === undefined) return print(USAGE, 1);
  const library = await loadLibrary(options);
  let origin;
  try {
    origin = await openOrigin(address);
    await analyse(library, origin);
  } catch (error) {
    process.stderr.write(`E: ${address}, ${error.message}\n`);
    return print(await emptyOutput(options.output, library), 1);
  } finally {
    origin?.close();
  }
  return print(withAddress(library.inform(), options.output, address), 0);
}

/**
 * Feeds the library from where it wants to read, until it has enough. The first read is small: most files are known by
 * then.
 */
async function analyse(library, origin) {
  const { size } = origin;
  let offset = 0;
  library.begin(size, 0);
  for (;;) {
    const chunk = await origin.read(offset);
    if (chunk.length === 0) break;
    if (library.feed(chunk)) break;
    const wanted = library.wants();
    if (wanted === -1) {
      offset += chunk.length;
    } else if (wanted >= size || !origin.canSeek(wanted)) {
      break;
    } else {
      offset = wanted;
      library.begin(size, offset);
    }
  }
  library.end();
}

function readArguments(args) {
  const settings = {
    output: '',
    full: false,
    cover: false,
    others: [],
    address: undefined,
    help: false,
    version: false,
    formats: false,
  };
  for (const arg of args) {
    const [, name, value = ''] = /^--?([A-Za-z_]+)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === undefined) settings.address = arg;
    else if (/^(help|h)$/i.test(name)) settings.help = true;
    else if (/^info_outputformats$/i.test(name)) settings.formats = true;
    else if (/^version$/i.test(name)) settings.version = true;
    else if (/^(full|f)$/i.test(name)) settings.full = value !== '0';
    else if (/^(output|inform)$/i.test(name)) settings.output = /^text$/i.test(value) ? '' : value;
    else if (/^cover_data$/i.test(name)) settings.cover = value !== '';
    else settings.others.push([name, value]);
  }
  return settings;
}

function print(text, code) {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  return code;
}
