/**
 * The worst bodies that the bounds of an endpoint let through, and those just beyond. All are derived from the
 * endpoint: its bounds, its schema, its media types.
 */
import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Endpoint } from '../../src/service/api/http/endpoint.ts';
import { MOST_BYTES } from '../../src/media/policy/limits.ts';
import { filled } from '../source/work.ts';

export interface Sent {
  what: string;
  method: string;
  /** With its query. */
  path: string;
  type?: string;
  body?: Buffer;
  headers?: Record<string, string>;
  /** Each byte of the body is a chunk. */
  isDripped?: boolean;
}

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  examples?: unknown[];
  pattern?: string;
  minItems?: number;
  minimum?: number;
}

const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
const MULTI = 'multipart/form-data; boundary=b';
/** Below the number of values that a body may have, with what is around them. */
const VALUES = 9_900;

const has = ({ type }: Schema, name: string): boolean => [type].flat().includes(name);
const list = (length: number, bytes: number): string[] => {
  const pad = 'x'.repeat(Math.max(0, Math.floor(bytes / length) - 9));
  return Array.from({ length }, (_, index) => `${index}${pad}`);
};
const members = (length: number, bytes: number): object =>
  Object.fromEntries(list(length, bytes - 3 * length).map((name) => [name, 1]));

/** A plausible value, so that the check goes on to the field that is meant. */
function plausible(schema: Schema): unknown {
  if (schema.examples) return schema.examples[0];
  if (schema.enum) return schema.enum[0];
  if (has(schema, 'string')) return schema.pattern?.includes('{8}') ? randomUUID() : 'x';
  if (has(schema, 'array')) return Array.from({ length: schema.minItems ?? 0 }, () => plausible(schema.items ?? {}));
  if (has(schema, 'object')) return withRequired(schema, {});
  return has(schema, 'boolean') ? true : (schema.minimum ?? 1);
}

function withRequired({ properties = {}, required = [] }: Schema, given: object): object {
  return { ...Object.fromEntries(required.map((name) => [name, plausible(properties[name] ?? {})])), ...given };
}

/** One body for each field, at any depth, with a large value in it. */
function inFields(schema: Schema, bytes: number): [what: string, value: object][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const values: [string, unknown][] = [];
    if (has(field, 'array')) values.push(['list', list(VALUES, bytes)]);
    if (has(field, 'object')) values.push(['members', members(VALUES / 2, bytes)]);
    if (values.length === 0) values.push(['text', 'x'.repeat(bytes)]);
    for (const [what, value] of inFields(field, bytes)) values.push([what, value]);
    return values.map(([what, value]): [string, object] => [
      `${name}: ${what}`,
      withRequired(schema, { [name]: value }),
    ]);
  });
}

function jsonTexts(schema: Schema, most: number): [what: string, text: string][] {
  const bytes = most - 1_000;
  const closed = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`;
  const nests = (unit: string, count: number) => `{"a":[${Array(count).fill(unit).join(',')}]}`;
  return [
    ['lists that are not closed', '['.repeat(bytes)],
    ['objects that are not closed', filled('{"a":', bytes)],
    ['lists of the maximum depth', nests(closed('[', ']', 62), Math.min(155, Math.floor(bytes / 126)))],
    ['objects of the maximum depth', nests(closed('{"a":', '}', 62), Math.min(78, Math.floor(bytes / 374)))],
    ['a list', JSON.stringify({ a: list(VALUES, bytes) }).slice(0, most)],
    ['small values', `{"a":[${filled('1,', bytes)}1]}`],
    ['members', JSON.stringify(members(VALUES / 2, bytes - VALUES))],
    ['small members', filled('{"a":1,"b":1,"c":1},', bytes)],
    ['a repeated member', `{${filled('"a":1,', Math.min(bytes, 29_000))}"b":1}`],
    ['a text', `{"a":"${'x'.repeat(bytes)}"}`],
    ['a text of wide characters', `{"a":"${filled('é\u{1f600}', bytes / 3.1)}"}`],
    ['a text of escapes', `{"a":"${filled('\\u0041', bytes - (bytes % 6))}"}`],
    ['a text of quotes', `{"a":"${filled('\\"', bytes - (bytes % 2))}"}`],
    ['a text that is not closed', `{"a":"${'\\'.repeat(bytes)}`],
    ['a name', `{"${'x'.repeat(bytes)}":1}`],
    ['a name of escapes', `{"${filled('\\u0041', bytes - (bytes % 6))}":1}`],
    ['a number', `{"a":${'9'.repeat(bytes)}}`],
    ['a fraction', `{"a":0.${'1'.repeat(bytes)}e-${'1'.repeat(9)}}`],
    ['blanks', `{${' '.repeat(bytes)}"a":1}`],
    ['commas', ','.repeat(bytes)],
    ...inFields(schema, Math.floor(bytes * 0.98)).map(([what, value]): [string, string] => [
      what,
      JSON.stringify(value),
    ]),
  ];
}

function forms(schema: Schema, most: number): [what: string, text: string][] {
  const bytes = most - 1_000;
  const names = Object.keys(schema.properties ?? {});
  const objects = Object.entries(schema.properties ?? {}).filter(([, field]) => has(field, 'object'));
  const small = JSON.stringify({ a: Array(4_000).fill(1) });
  return [
    ['pairs', filled('a=1&', bytes)],
    [
      'pairs of distinct names',
      Array.from({ length: 256 }, (_, index) => `${index}=${'x'.repeat(bytes / 270)}`).join('&'),
    ],
    ['escapes', `a=${filled('%41', bytes)}`],
    ['pluses', `a=${'+'.repeat(bytes)}`],
    ['a long name', `${'x'.repeat(bytes)}=1`],
    ['brackets', `${'['.repeat(bytes)}=1`],
    ['ampersands', '&'.repeat(bytes)],
    [
      'a repeated list',
      names
        .slice(0, 1)
        .map((name) => filled(`${name}[]=x&`, bytes))
        .join(''),
    ],
    ...objects.map(([name]): [string, string] => [
      `JSON in ${name}`,
      `${name}=${JSON.stringify({ a: list(VALUES, bytes * 0.9) }).slice(0, bytes)}`,
    ]),
    [
      'JSON in all fields',
      objects
        .map(([name]) => `${name}=${small}`)
        .join('&')
        .slice(0, bytes),
    ],
  ];
}

function multiparts(most: number): [what: string, text: string][] {
  const bytes = most - 1_000;
  const part = (value: string, more = '') =>
    `--b\r\nContent-Disposition: form-data; name="a"${more}\r\n\r\n${value}\r\n`;
  return [
    ['fields', filled(part(''), bytes)],
    ['files', filled(part('', '; filename="f"'), bytes)],
    ['files called file', filled(part('', '; filename="f"').replace('"a"', '"file"'), bytes)],
    ['heads that are empty', filled('--b\r\n\r\n\r\n', bytes)],
    ['heads that do not end', `--b\r\n${filled('a: b\r\n', bytes)}`],
    ['a text of line ends', `${part(filled('\r\n', bytes))}--b--\r\n`],
    ['a text of almost boundaries', `${part(filled('\r\n--', bytes))}--b--\r\n`],
    ['a text of hyphens', `${part('-'.repeat(bytes))}--b--\r\n`],
    ['a large text', `${part('x'.repeat(bytes))}--b--\r\n`],
    ['256 texts', `${part('x'.repeat(bytes / 400)).repeat(256)}--b--\r\n`],
    ['no boundary', 'x'.repeat(bytes)],
  ];
}

const WHOLE: Record<string, (bytes: number) => string> = {
  'nothing but brackets': (bytes) => '['.repeat(bytes),
  'nothing but braces': (bytes) => '{'.repeat(bytes),
  'brackets that close': (bytes) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  'question marks': (bytes) => `${filled('? ', bytes)}a`,
  'fifty question marks': () => `${'? '.repeat(50)}a`,
  hyphens: (bytes) => filled('- ', bytes),
  colons: (bytes) => filled('a: ', bytes),
  'lines that are more and more indented': (bytes) =>
    Array.from({ length: Math.sqrt(bytes * 2) - 2 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
  'distinct members': (bytes) => Array.from({ length: bytes / 9 }, (_, index) => `k${index}: 1`).join('\n'),
  quotes: (bytes) => `rules: [${filled('"a",', bytes)}]`,
  remarks: (bytes) => filled('# \n', bytes),
  'line ends': (bytes) => '\n'.repeat(bytes),
  documents: (bytes) => filled('---\n', bytes),
  anchors: (bytes) => `a: &a [x]\nb: [${filled('*a,', bytes)}]`,
  tags: (bytes) => filled('- !!str a\n', bytes),
  'a block of text': (bytes) => `a: |\n${filled('  x\n', bytes)}`,
  'a folded text': (bytes) => `a: >\n${filled('  x\n\n', bytes)}`,
  'a plain text of many lines': (bytes) => `a: ${filled('x\n  ', bytes)}`,
  escapes: (bytes) => `a: "${filled('\\x41', bytes)}"`,
};

/** Policies with as many rules, names, conditions and values as there is room for. */
const rules = (count: number, rule: (index: number) => object): string =>
  JSON.stringify({ rules: Array.from({ length: count }, (_, index) => rule(index)) });
const RULES: Record<string, (bytes: number) => string> = {
  'rules of one name': (bytes) => rules(bytes / 60, () => ({ name: 'a', field: 'container.format', is: 'mp4' })),
  '200 rules': (bytes) =>
    rules(200, (index) => ({
      name: `rule ${index}`,
      field: 'container.format',
      in: Array.from({ length: 100 }, (_, value) => `${value}`).slice(0, bytes / 200 / 6 - 15),
    })),
  'groups within one another': () =>
    rules(1, () => {
      let group: object = { field: 'container.format', is: 'mp4' };
      for (let depth = 0; depth < 28; depth++) group = { all: [group] };
      return { name: 'a', ...group };
    }),
  'a group of many conditions': (bytes) =>
    rules(1, () => ({
      name: 'a',
      any: Array.from({ length: bytes / 50 - 4 }, () => ({ field: 'container.format', is: 'mp4' })),
    })),
  globs: (bytes) =>
    rules(bytes / 160 - 2, (index) => ({ name: `${index}`, field: 'container.format', like: filled('*a', 100) })),
  paths: (bytes) =>
    rules(bytes / 360 - 2, (index) => ({ name: `${index}`, tool: 'mediainfo', path: filled('a.', 299), is: 1 })),
};

const XML_RULE = '<rule name="a" value="Format" tracktype="Video" operator="=">AVC</rule>';
const XML: Record<string, (bytes: number) => string> = {
  'rules of one name': (bytes) => `<policy name="p">${XML_RULE.repeat(Math.min(9_900, bytes / 75))}</policy>`,
  'rules that cannot be translated': (bytes) =>
    `<policy>${'<rule name="a" scope="mmt"/>'.repeat(Math.min(9_900, bytes / 30))}</policy>`,
  'groups within one another': () => `<policy>${'<policy type="or">'.repeat(28)}${XML_RULE}${'</policy>'.repeat(29)}`,
  'a group of many rules': (bytes) =>
    `<policy><policy type="or">${XML_RULE.repeat(Math.min(9_900, bytes / 75))}</policy></policy>`,
  'elements that are not closed': (bytes) => filled('<a>', bytes),
  'small elements': (bytes) => `<policy>${filled('<a/>', bytes)}</policy>`,
  attributes: (bytes) =>
    `<policy ${Array.from({ length: bytes / 12 }, (_, index) => `a${index}=""`).join(' ')}></policy>`,
  'a long text': (bytes) => `<policy>${'x'.repeat(bytes)}</policy>`,
  entities: (bytes) => `<policy>${filled('&amp;', bytes)}</policy>`,
  remarks: (bytes) => `<policy>${filled('<!---->', bytes)}</policy>`,
  'sections of text': (bytes) => `<policy>${filled('<![CDATA[x]]>', bytes)}</policy>`,
  'a document type': (bytes) => `<!DOCTYPE a [${filled('<!ENTITY a "a">', bytes)}]><policy/>`,
};

const isXml = (type: string): boolean => type.endsWith('xml');

/** A media type's documents, with sizes that the endpoint and the language let through. */
function documents(type: string, most: number): [what: string, text: string][] {
  if (isXml(type)) return Object.entries(XML).map(([what, text]) => [what, text(most - 1_000)]);
  const bytes = Math.min(most, MOST_BYTES) - 100;
  const json = Object.entries(RULES).map(([what, text]): [string, string] => [what, text(bytes)]);
  if (type === JSON_TYPE) return json;
  return [...json, ...Object.entries(WHOLE).map(([what, text]): [string, string] => [what, text(bytes)])];
}

const pathOf = (path: string): string =>
  path.replaceAll(/:(\w+)/g, (_, name: string) =>
    name === 'name' ? 'worst' : /\/(probe|session|log|webhook)\//.test(path) ? randomUUID() : '1',
  );

/** All but policies. */
export function worstBodies({ operation, bounds }: Endpoint): Sent[] {
  const [method, path] = [operation.method.toUpperCase(), pathOf(operation.path)];
  const { body } = operation;
  if (!body) {
    const bytes = 60_000;
    const queries = forms((operation.query ?? {}) as Schema, bytes);
    return queries.map(([what, query]) => ({ what: `query: ${what}`, method, path: `${path}?${query}` }));
  }
  const schema = body.schema as Schema;
  const sent = (what: string, type: string, text: string | Buffer, more: Partial<Sent> = {}): Sent => {
    const bytes = Buffer.from(text);
    return { what: `${type.split(';')[0]}: ${what}`, method, path, type, body: bytes, ...more };
  };
  const texts = jsonTexts(schema, bounds.bytes);
  const packed = (what: string, text: string | Buffer) =>
    sent(`${what}, packed`, JSON_TYPE, typeof text === 'string' ? gzipSync(text) : text, {
      headers: { 'Content-Encoding': 'gzip' },
    });
  return [
    ...texts.map(([what, text]) => sent(what, JSON_TYPE, text)),
    ...texts.slice(0, 20).map(([what, text]) => packed(what, text)),
    packed('far too much', Buffer.from(gzipSync(Buffer.alloc(50 << 20)))),
    packed('nothing', Buffer.concat(Array<Buffer>(Math.floor(bounds.bytes / 20) - 1).fill(gzipSync('')))),
    sent('beyond the bound', JSON_TYPE, ' '.repeat(bounds.bytes + 1)),
    sent('chunks of one byte', JSON_TYPE, ' '.repeat(bounds.bytes - 1), { isDripped: true }),
    ...(body.mediaTypes.includes(FORM)
      ? forms(schema, bounds.bytes).map(([what, text]) => sent(what, FORM, text))
      : []),
    ...(body.mediaTypes.includes('multipart/form-data')
      ? multiparts(bounds.bytes).map(([what, text]) => sent(what, MULTI, text))
      : []),
    ...(operation.id === 'createBatch'
      ? batches(bounds.bytes).map(([what, text]) => sent(what, 'application/x-ndjson', text))
      : []),
  ];
}

/** Those that are accepted, and those whose last line is not. The tool that is built in needs no cluster. */
function batches(most: number): [what: string, text: string][] {
  const head = JSON.stringify({ probe: { only: 'mediastreamvalidator' } });
  const of = (count: number, last = ''): string => {
    const pad = 'x'.repeat(Math.floor(most / count) - 60);
    const lines = Array.from({ length: count }, (_, n) => `"https://h${n}.example.com/${pad}?a=${n}"`);
    return [head, ...lines.slice(0, -1), last || lines.at(-1)].join('\n');
  };
  return [
    ['10,000 items', of(10_000)],
    ['10,000 items, the last one wrong', of(10_000, 'x')],
    ['long items', of(Math.floor(most / 8_000))],
    ['empty lines', `${head}\n${'\n'.repeat(most - 100)}`],
    ['lines that are wrong', filled('x\n', most - 100)],
  ];
}

/** Policies: as a body that is one, or in a field of that name. */
export function worstPolicies({ operation, bounds }: Endpoint): Sent[] {
  const [method, path] = [operation.method.toUpperCase(), pathOf(operation.path)];
  const { body } = operation;
  if (!body) return [];
  const schema = body.schema as Schema;
  const field = schema.properties?.['policy'];
  const headers = { Prefer: 'respond-async' };
  const inField = (policy: unknown) =>
    Buffer.from(
      JSON.stringify(
        withRequired(schema, { ...(schema.properties?.['url'] ? { url: 'https://media.example.com/a' } : {}), policy }),
      ),
    );
  const types = Object.keys(body.otherTypes ?? {});
  return [
    ...(types.length === 0 ? [] : [JSON_TYPE, ...types]).flatMap((type) =>
      documents(type, bounds.bytes).map(([what, text]) => ({
        what: `${type}: ${what}`,
        method,
        path,
        type,
        body: Buffer.from(text),
      })),
    ),
    ...(field === undefined
      ? []
      : documents(has(field, 'object') ? JSON_TYPE : 'application/yaml', bounds.bytes).map(([what, text]) => ({
          what: `in a field: ${what}`,
          method,
          path,
          type: JSON_TYPE,
          body: inField(has(field, 'object') ? (JSON.parse(text) as unknown) : text),
          headers,
        }))),
  ];
}
