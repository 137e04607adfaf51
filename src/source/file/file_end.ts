/**
 * The end of a far file, asked for beside its head: it has the index or the tags of many formats, and its place is
 * known only with the head, a round trip later.
 */
import type { OriginAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { contentRange } from '../http/head.ts';
import { markOf } from '../http/identity.ts';
import type { Transport } from '../http/transport.ts';
import { PAGE_SIZE } from './page_memory.ts';
import type { Run } from './read_ahead.ts';

/** Its first part is of a page that it does not fill, so that one page at least is whole. */
const LENGTH = 2 * PAGE_SIZE;

/** Of what else is read at the end, nothing is needed early: a transport stream has its last time there. */
const FORMATS = /\.(?:3gp|avi|flac|m4[abv]|mk[av]|mov|mp[34]|mxf|qt|webm)$/i;

/** A request that was sent before its pages were known: `before` of its bytes are of no page. */
export interface Opened {
  answer: OriginAnswer | Promise<OriginAnswer | undefined>;
  before: number;
}

export class FileEnd {
  /** Of a near file, the end is not asked for. */
  readonly isAsked: Promise<boolean>;
  readonly #answer: Promise<OriginAnswer | undefined>;

  private constructor(isAsked: Promise<boolean>, ask: () => Promise<{ response: OriginAnswer }>) {
    this.isAsked = isAsked;
    this.#answer = isAsked.then(async (asked) => (asked ? (await ask()).response : undefined)).catch(() => undefined);
  }

  /** Undefined: nothing of this file is needed early. What fails is asked for again, like any part of the file. */
  static of(transport: Transport, count: Exchange['count']): FileEnd | undefined {
    const { askEnd } = transport;
    if (askEnd === undefined || !FORMATS.test(transport.url.split(/[?#]/)[0]!)) return undefined;
    return new FileEnd(transport.isFar(), () => askEnd(LENGTH, count));
  }

  /** The pages that it has of a file of this size, none of them before `from`. */
  static run(size: number, from: number): Run | undefined {
    const [first, end] = [Math.ceil((size - LENGTH) / PAGE_SIZE), Math.ceil(size / PAGE_SIZE)];
    return first < from ? undefined : { first, count: end - first };
  }

  /** Bytes before its first page. */
  static before(size: number): number {
    return Math.ceil((size - LENGTH) / PAGE_SIZE) * PAGE_SIZE - (size - LENGTH);
  }

  /** Undefined: the answer is not the end of this file. */
  async answer(size: number, mark: string): Promise<OriginAnswer | undefined> {
    const response = await this.#answer;
    if (response === undefined) return undefined;
    const given = contentRange(response);
    if (
      response.statusCode === 206 &&
      given?.from === size - LENGTH &&
      given.size === size &&
      markOf(response) === mark
    )
      return response;
    response.destroy();
    return undefined;
  }

  drop(): void {
    void this.#answer.then((response) => response?.destroy());
  }
}
