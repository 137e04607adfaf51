/** S3-compatible storage of backups: uploads in parts, each part signed with its content, and bounded memory. */
import { createHash } from 'node:crypto';
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { boundedText } from '../../base/bounded_text.ts';
import { retry } from '../../base/retry.ts';
import { targetOf } from '../../source/address/target.ts';
import { signS3, type S3Keys } from '../../source/http/sign.ts';
import { textIn } from '../../base/xml.ts';
import { pieces, type Bytes } from './bytes.ts';
import { checkName, type Destination } from './destination.ts';
import { BackupError } from './errors.ts';

export interface S3Settings {
  /** https://s3.eu-west-1.amazonaws.com, or your own service. */
  endpoint: string;
  bucket: string;
  /** Before each name; empty, or with a slash at its end. */
  prefix: string;
  region: string;
  keys: S3Keys;
  /** PEM of the service's certificate authority; empty: the public ones. */
  ca: string;
  partBytes?: number;
}

/** S3 takes 10,000 parts at most: 320 GB. */
const PART_BYTES = 32 * 1_048_576;
const SILENT_MS = 60_000;
const RETRY_MS = 120_000;
const PAUSES = { first: 200, longest: 10_000 };
const MOST_TEXT = 4 * 1_048_576;
const SHORT_TEXT = 4_096;

interface Call {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  key?: string;
  query?: Record<string, string>;
  body?: Buffer;
}

/** Worth another try: the service or the way to it failed, not the request. */
class Passing extends Error {
  override name = 'Passing';
}

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

export const s3 = (settings: S3Settings): Destination => new Bucket(settings);

class Bucket implements Destination {
  readonly #settings: Required<S3Settings>;
  readonly #secure: boolean;
  readonly #agent: HttpAgent;

  constructor(settings: S3Settings) {
    const { endpoint, ca } = settings;
    this.#settings = { partBytes: PART_BYTES, ...settings };
    this.#secure = endpoint.startsWith('https:');
    this.#agent = this.#secure
      ? new HttpsAgent({ keepAlive: true, ...(ca === '' ? {} : { ca }) })
      : new HttpAgent({ keepAlive: true });
  }

  async write(name: string, bytes: Bytes): Promise<number> {
    const { partBytes } = this.#settings;
    const key = this.#keyOf(name);
    const what = `cannot write ${name}`;
    const parts = pieces(bytes, partBytes);
    const first = await parts.next();
    const body = first.done === true ? Buffer.alloc(0) : first.value;
    if (body.length < partBytes) {
      (await this.#answered({ method: 'PUT', key, body }, what)).resume();
      return body.length;
    }
    let size = 0;
    for await (const length of this.#inParts(key, what, body, parts)) size += length;
    return size;
  }

  async *read(name: string): AsyncGenerator<Buffer> {
    const what = `cannot read ${name}`;
    const response = await this.#answered({ method: 'GET', key: this.#keyOf(name) }, what);
    try {
      for await (const chunk of response) yield chunk as Buffer;
    } catch (error) {
      throw new BackupError('destination', `${what}: the S3 service ended the response early`, { cause: error });
    } finally {
      response.destroy();
    }
  }

  async list(): Promise<string[]> {
    const { prefix } = this.#settings;
    const found: string[] = [];
    for (let token = ''; ;) {
      const query = { 'list-type': '2', prefix, ...(token === '' ? {} : { 'continuation-token': token }) };
      const xml = await this.#text({ method: 'GET', query }, 'cannot list the bucket');
      for (const [, entry = ''] of xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const name = (textIn(entry, 'Key') ?? '').slice(prefix.length);
        if (/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) found.push(name);
      }
      token = textIn(xml, 'NextContinuationToken') ?? '';
      if (token === '') return found.sort();
    }
  }

  async remove(name: string): Promise<void> {
    await this.#text({ method: 'DELETE', key: this.#keyOf(name) }, `cannot remove ${name}`);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #keyOf(name: string): string {
    return `${this.#settings.prefix}${checkName(name)}`;
  }

  #send({ method, key = '', query = {}, body = Buffer.alloc(0) }: Call): Promise<IncomingMessage> {
    const { endpoint, bucket, region, keys } = this.#settings;
    const search = Object.entries(query)
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .join('&');
    const path = [bucket, ...(key === '' ? [] : key.split('/'))].map(encoded).join('/');
    const target = targetOf(`${endpoint}/${path}${search === '' ? '' : `?${search}`}`);
    const bodySha256 = createHash('sha256').update(body).digest('hex');
    const headers = {
      ...signS3(target, keys, region, new Date(), { method, bodySha256 }),
      'content-length': body.length,
    };
    const { host, port, path: targetPath } = target;
    return new Promise((resolve, reject) => {
      const request = (this.#secure ? httpsRequest : httpRequest)(
        { host, port, path: targetPath, method, agent: this.#agent, headers, timeout: SILENT_MS },
        resolve,
      );
      const cannot = (error: NodeJS.ErrnoException): Passing =>
        new Passing(`the S3 service cannot be reached (${error.code ?? error.message})`);
      request.on('timeout', () => request.destroy(new Passing('the S3 service does not answer')));
      request.on('error', (error) => reject(error instanceof Passing ? error : cannot(error)));
      request.end(body);
    });
  }

  async #answered(call: Call, what: string): Promise<IncomingMessage> {
    try {
      return await retry(
        async () => {
          const response = await this.#send(call);
          const status = response.statusCode ?? 0;
          if (status >= 200 && status < 300) return response;
          const code = textIn((await boundedText(response, SHORT_TEXT).catch(() => '')) ?? '', 'Code') ?? '';
          const text = `${what}: the S3 service answered ${status} ${code.slice(0, 100)}`.trim();
          if (status >= 500 || status === 429 || code === 'RequestTimeout') throw new Passing(text);
          throw new BackupError(status === 404 ? 'not-found' : 'destination', text);
        },
        { ...PAUSES, until: performance.now() + RETRY_MS, when: (error) => error instanceof Passing },
      );
    } catch (error) {
      if (error instanceof Passing) throw new BackupError('destination', `${what}: ${error.message}`, { cause: error });
      throw error;
    }
  }

  async #text(call: Call, what: string): Promise<string> {
    const xml = await boundedText(await this.#answered(call, what), MOST_TEXT);
    if (xml === undefined) throw new BackupError('destination', 'the S3 service sent too long a response');
    // The end of an upload may fail after its status line is sent.
    if (xml.includes('<Error>'))
      throw new BackupError('destination', `${what}: the S3 service answered ${textIn(xml, 'Code') ?? 'an error'}`);
    return xml;
  }

  async *#inParts(key: string, what: string, first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<number> {
    const begun = await this.#text({ method: 'POST', key, query: { uploads: '' } }, what);
    const uploadId = textIn(begun, 'UploadId') ?? '';
    if (uploadId === '') throw new BackupError('destination', `${what}: the S3 service began no upload`);
    const parts: string[] = [];
    try {
      for (let part: Buffer | undefined = first; part;) {
        const number = parts.length + 1;
        const query = { partNumber: String(number), uploadId };
        const response = await this.#answered({ method: 'PUT', key, query, body: part }, what);
        response.resume();
        const etag = String(response.headers.etag ?? '').replaceAll('"', '&quot;');
        parts.push(`<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`);
        yield part.length;
        const next: IteratorResult<Buffer, unknown> = await rest.next();
        part = next.done === true ? undefined : next.value;
      }
      const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
      await this.#text({ method: 'POST', key, query: { uploadId }, body }, what);
    } catch (error) {
      // Parts of an upload that never ends cost money.
      await this.#text({ method: 'DELETE', key, query: { uploadId } }, what).catch(() => {});
      throw error;
    }
  }
}
