/** What a tool's bare output is, by the format that was asked for. */
const FFPROBE: Readonly<Record<string, string>> = { json: 'application/json', xml: 'application/xml', csv: 'text/csv' };

function ofMediainfo(output: string): string {
  if (output.endsWith('JSON')) return 'application/json';
  if (output === 'Text') return 'text/plain';
  // Every export format but those above is XML.
  return output === 'HTML' ? 'text/html' : 'application/xml';
}

export const mediaTypeOf = (tool: 'ffprobe' | 'mediainfo', format: string): string =>
  `${tool === 'ffprobe' ? (FFPROBE[format] ?? 'text/plain') : ofMediainfo(format)}; charset=utf-8`;
