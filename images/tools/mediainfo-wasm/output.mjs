/** What the command line adds to what the library prints: the address, which the library never sees. */

export function withAddress(text, format, address) {
  const extension = /\.([A-Za-z0-9]{1,8})$/.exec(pathOf(address))?.[1];
  if (/^json$/i.test(format)) {
    return addJsonExtension(
      text.replace(/"@ref": ?""/, () => `"@ref":${JSON.stringify(address)}`),
      extension,
    );
  }
  if (/^(xml|oldxml)$/i.test(format)) {
    return addXmlExtension(
      text.replace('<media ref="">', () => `<media ref="${escapeXml(address)}">`),
      extension,
    );
  }
  if (format === '')
    return text.replace(
      /^(General\r?\n)(?!Complete name)/,
      (line) => `${line}${'Complete name'.padEnd(41)}: ${address}\n`,
    );
  return text;
}

/** What the command line prints where nothing could be read. */
export async function emptyOutput(format, library) {
  if (/^json$/i.test(format)) {
    return `{\n"creatingLibrary":{"name":"MediaInfoLib","version":"${await library.version()}","url":"https://mediaarea.net/MediaInfo"},\n"media": null\n}\n`;
  }
  return '\n';
}

function addJsonExtension(text, extension) {
  if (extension === undefined || text.includes('"FileExtension"')) return text;
  return text
    .replace(/^"Format":/m, () => `"FileExtension":${JSON.stringify(extension)},\n"Format":`)
    .replace(
      /("@type":"General",(?:"[A-Za-z]+Count":"\d+",)*)"Format":/,
      (_, before) => `${before}"FileExtension":${JSON.stringify(extension)},"Format":`,
    );
}

function addXmlExtension(text, extension) {
  if (extension === undefined || text.includes('<FileExtension>')) return text;
  return text.replace('<Format>', () => `<FileExtension>${extension}</FileExtension>\n<Format>`);
}

function pathOf(address) {
  try {
    return new URL(address).pathname;
  } catch {
    return address;
  }
}

function escapeXml(text) {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
