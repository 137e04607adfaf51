/**
 * Dark bars above and below pictures, or at both sides, that come and go. From what is lit in each picture: where the
 * picture between the bars is dark, too, nothing is known, and what was goes on.
 */
import type { Block } from './lines.ts';
import { Passages } from './passages.ts';
import type { QcBars, QcLetterboxes } from './schema.ts';

/** As parts of the whole: narrower bars are the edge of the picture; the other two edges have no more. */
const [BAR, EDGE] = [0.04, 0.02];
/** Two bars of one picture, and two pictures of one letterbox, differ by no more. */
const SAME = 0.01;
const SAME_PIXELS = 4;
/** A dark scene seldom has two such edges for so long, in half of its pictures. */
const PROVEN_S = 1.5;
/** A flash is no end. */
const FLASH_S = 0.5;

type Size = readonly [width: number, height: number];
type Axis = readonly ['left' | 'top', 'right' | 'bottom', size: 0 | 1];
const UPRIGHT: Axis = ['top', 'bottom', 1];
const ACROSS: Axis = ['left', 'right', 0];

/** Pixels at each edge in which nothing is lit. Undefined: nothing is. */
export function edgesOf(
  values: Block['values'],
  [width, height]: readonly [number, number, number],
): QcBars | undefined {
  const [left, right] = [values.get('left'), values.get('right')];
  const [top, bottom] = [values.get('top'), values.get('bottom')];
  if (left === undefined || right === undefined || top === undefined || bottom === undefined) return undefined;
  return { left, right: Math.max(0, width - 1 - right), top, bottom: Math.max(0, height - 1 - bottom) };
}

export const narrower = (a: QcBars, b: QcBars): QcBars => ({
  left: Math.min(a.left, b.left),
  right: Math.min(a.right, b.right),
  top: Math.min(a.top, b.top),
  bottom: Math.min(a.bottom, b.bottom),
});

interface Run {
  axis: Axis;
  /** Of its first picture, and what is dark in all. */
  first: QcBars;
  edges: QcBars;
  from: number;
  /** Pictures that show it, less those that do not. */
  shown: number;
  /** When it was last not seen, since it was. */
  gone?: number | undefined;
}

export class Letterbox {
  readonly #size: Size;
  readonly #found;
  #current: Run | undefined;
  #next: Run | undefined;
  /** Since when pictures have been lit where bars would be. */
  #against: number | undefined;
  #wasFull = false;

  constructor(size: Size, shortest: number) {
    this.#size = size;
    this.#found = new Passages(shortest, () => this.#current!.edges);
  }

  #most = (part: number, size: 0 | 1): number => Math.max(SAME_PIXELS, part * this.#size[size]);

  #isFull = (edges: QcBars, [one, other, size]: Axis): boolean =>
    Math.max(edges[one], edges[other]) <= this.#most(EDGE, size);

  #axisOf(edges: QcBars): Axis | undefined {
    const isBarred = ([one, other, size]: Axis): boolean =>
      Math.min(edges[one], edges[other]) > this.#most(BAR, size) &&
      Math.abs(edges[one] - edges[other]) <= this.#most(SAME, size);
    if (isBarred(UPRIGHT) && this.#isFull(edges, ACROSS)) return UPRIGHT;
    return isBarred(ACROSS) && this.#isFull(edges, UPRIGHT) ? ACROSS : undefined;
  }

  #shows({ axis, first }: Run, edges: QcBars): boolean {
    const [one, other, size] = axis;
    const most = this.#most(SAME, size);
    return Math.abs(edges[one] - first[one]) <= most && Math.abs(edges[other] - first[other]) <= most;
  }

  /** Both bars are lit, as one may hold a subtitle. Without bars: the picture is full. */
  #isAgainst(edges: QcBars): boolean {
    if (!this.#current) return this.#isFull(edges, UPRIGHT) && this.#isFull(edges, ACROSS);
    const {
      axis: [one, other, size],
      first,
    } = this.#current;
    const most = this.#most(SAME, size);
    return edges[one] < first[one] - most && edges[other] < first[other] - most;
  }

  /** Undefined: nothing of the picture is lit. */
  take(edges: QcBars | undefined, time: number | null): void {
    if (time === null) return;
    const axis = edges && this.#axisOf(edges);
    if (edges && axis && this.#current?.axis === axis && this.#shows(this.#current, edges)) {
      this.#current.edges = narrower(this.#current.edges, edges);
      [this.#current.gone, this.#against, this.#next] = [undefined, undefined, undefined];
      return;
    }
    if (this.#current) this.#current.gone ??= time;
    this.#follow(edges, axis, time);
    if (!this.#current && axis) this.#against = undefined;
    if (!edges || !this.#isAgainst(edges)) return;
    this.#against ??= time;
    if (time - this.#against < FLASH_S) return;
    this.#wasFull = true;
    this.#end();
  }

  /** Whether another one begins. */
  #follow(edges: QcBars | undefined, axis: Axis | undefined, time: number): void {
    const next = this.#next;
    if (next && edges && next.axis === axis && this.#shows(next, edges)) {
      next.shown += 1;
      next.edges = narrower(next.edges, edges);
      if (time - next.from < PROVEN_S) return;
      this.#end();
      this.#found.take(next.from, undefined);
      [this.#current, this.#next, this.#against] = [next, undefined, undefined];
    } else if (edges && axis) this.#next = { axis, first: edges, edges, from: time, shown: 1 };
    else if (next && (next.shown -= 1) < 0) this.#next = undefined;
  }

  #end(): void {
    this.#found.take(undefined, this.#current?.gone);
    this.#current = undefined;
  }

  told(end: number | undefined): QcLetterboxes {
    const found = this.#found.told(end);
    return { changes: found.count > 1 || (found.count > 0 && this.#wasFull), ...found };
  }
}
