/** One page of a bucket's listing, as S3, Google Cloud Storage and Azure Storage send it. */
import { unescapeText, xmlTags } from '../../base/xml.ts';
import { decoded } from '../address/s3.ts';

export interface ListedObject {
  name: string;
  bytes: number;
  /** Milliseconds; NaN: the host does not say. */
  modified: number;
  /** Empty: the host does not say. */
  etag: string;
}

export interface Page {
  /** In the order of the page. */
  objects: ListedObject[];
  /** Names that cannot be decoded. */
  unreadable: number;
  isLast: boolean;
  /** Of Azure: where the next page begins. */
  marker: string;
}

interface Form {
  root: string;
  /** The element of an object, and of its facts. */
  object: string;
  name: string;
  bytes: string;
  modified: string;
  etag: string;
}

const S3: Form = {
  root: 'ListBucketResult',
  object: 'Contents',
  name: 'Key',
  bytes: 'Size',
  modified: 'LastModified',
  etag: 'ETag',
};
const AZURE: Form = {
  root: 'EnumerationResults',
  object: 'Blob',
  name: 'Name',
  bytes: 'Content-Length',
  modified: 'Last-Modified',
  etag: 'Etag',
};

/** How many a page is asked for. */
export const PAGE_OBJECTS = 1_000;

interface Read {
  objects: Map<string, string>[];
  /** Texts outside of objects. */
  rest: Map<string, string>;
}

/** Undefined: it is no listing, or not a whole one. */
function elementsOf(xml: string, { root, object, name: nameElement }: Form): Read | undefined {
  const read: Read = { objects: [], rest: new Map() };
  let isOpen = false;
  let inObject: Map<string, string> | undefined;
  let text: { name: string; from: number; isEncoded: boolean } | undefined;
  for (const { kind, name, from, to, attributes } of xmlTags(xml)) {
    if (!isOpen) {
      if (kind !== 'open' || name !== root) return undefined;
      isOpen = true;
      continue;
    }
    if (kind === 'open') {
      text = { name, from: to, isEncoded: name === nameElement && attributes().some((one) => one.name === 'Encoded') };
      if (name !== object) continue;
      // One more than were asked for, which is refused: the rest of such a page costs nothing.
      if (read.objects.length > PAGE_OBJECTS) return read;
      read.objects.push((inObject = new Map()));
      continue;
    }
    if (kind === 'empty') continue;
    if (name === root) return read;
    if (name === object) inObject = undefined;
    else if (text?.name === name) {
      (inObject ?? read.rest).set(name, unescapeText(xml.slice(text.from, from)));
      if (text.isEncoded) inObject?.set('Encoded', '');
    }
    text = undefined;
  }
  return undefined;
}

function objectsOf({ objects }: Read, form: Form, decode: (name: string, isEncoded: boolean) => string | undefined) {
  const found = objects.map((one) => ({
    name: decode(one.get(form.name) ?? '', one.has('Encoded')),
    bytes: Number(one.get(form.bytes) ?? NaN),
    modified: Date.parse(one.get(form.modified) ?? ''),
    etag: one.get(form.etag) ?? '',
  }));
  const readable = found.filter((one): one is ListedObject => one.name !== undefined && one.name !== '');
  return { objects: readable, unreadable: found.length - readable.length };
}

/** The encoding of a form, where a space is a plus. */
const ofForm = (name: string): string | undefined => decoded(name.replaceAll('+', ' '));

export function s3Page(xml: string): Page | undefined {
  const read = elementsOf(xml, S3);
  if (read === undefined) return undefined;
  const isEncoded = read.rest.get('EncodingType') === 'url';
  return {
    ...objectsOf(read, S3, isEncoded ? ofForm : (name) => name),
    isLast: read.rest.get('IsTruncated') !== 'true',
    marker: '',
  };
}

export function azurePage(xml: string): Page | undefined {
  const read = elementsOf(xml, AZURE);
  if (read === undefined) return undefined;
  const marker = read.rest.get('NextMarker') ?? '';
  return {
    ...objectsOf(read, AZURE, (name, isEncoded) => (isEncoded ? decoded(name) : name)),
    isLast: marker === '',
    marker,
  };
}
