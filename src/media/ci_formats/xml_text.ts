const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** XML 1.0 has no place for most control characters, escaped or not, nor for half a surrogate pair. */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

/** Text for an element or an attribute. */
export const xmlText = (text: string): string =>
  text
    .replaceAll(FORBIDDEN, '\ufffd')
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
    .replaceAll(/[\t\r\n]/g, ' ');
