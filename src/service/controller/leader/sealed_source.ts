/** Reads what the API sealed of a job's source: an address, or an address with what is sent along. */
import { isSource } from '../../../source/address/is_source.ts';
import { parseSource } from '../../../source/address/parse.ts';
import { isUploadPlace } from '../../../source/upload/place.ts';
import { uploadSource } from '../../../source/protocols/upload/upload.ts';
import { isHeaders, unfitFor, type SourceHeader } from '../../../source/headers.ts';
import type { Source } from '../../../source/source.ts';
import { Refusal } from './job.ts';

/** As sealed: a credential is named, and not resolved yet. */
export type SealedSource = Source & { credential?: string };

/** One source, or the two of a comparison. */
export type Sources = readonly [SealedSource, ...SealedSource[]];

const notValid = (): Refusal => new Refusal('InvalidRequest', 400, 'the sealed source is not valid');

export function readAddress(text: string, s3Hosts: readonly string[]): Source {
  try {
    return parseSource(text, { s3Hosts });
  } catch (error) {
    throw new Refusal('InvalidRequest', 400, (error as Error).message);
  }
}

function withHeaders(source: Source, headers: unknown): Source {
  if (headers === undefined) return source;
  if (!isHeaders(headers) || unfitFor(source, headers) !== undefined) throw notValid();
  return { ...source, headers: headers as SourceHeader[] };
}

/** The parsed source as JSON, or the text of its address, which the API seals until 0.2 (docs/decisions/0009). */
function readOne(value: unknown, s3Hosts: readonly string[]): SealedSource {
  if (typeof value === 'string') return readAddress(value, s3Hosts);
  if (isSource(value)) return value;
  const { address, headers, credential, upload, name } = (value ?? {}) as Record<string, unknown>;
  if (isUploadPlace(upload) && typeof name === 'string') return uploadSource(name, upload);
  if (typeof address !== 'string') throw notValid();
  const source = withHeaders(readAddress(address, s3Hosts), headers);
  return typeof credential === 'string' ? { ...source, credential } : source;
}

/** `{"sources": […]}` holds two sources (docs/decisions/0026), or one that is more than an address. */
export function readSealed(text: string, s3Hosts: readonly string[]): Sources {
  if (!text.startsWith('{')) return [readAddress(text, s3Hosts)];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notValid();
  }
  const { sources } = value as { sources?: unknown };
  if (sources === undefined) return [readOne(value, s3Hosts)];
  if (!Array.isArray(sources) || sources.length < 1 || sources.length > 2) throw notValid();
  if (sources.length === 1 && (typeof sources[0] === 'string' || isSource(sources[0]))) throw notValid();
  const [first, ...others] = sources.map((one: unknown) => readOne(one, s3Hosts));
  return [first!, ...others];
}
