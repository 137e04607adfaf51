/**
 * Items of batches give way to callers. Where the jobs that callers wait for and the items on a node would leave it no
 * core for anything else, its items begin one at a time and at this pace, until no caller has a job there.
 */
import { nodeOf } from '../pools/plan.ts';
import type { Runner } from '../pools/runners.ts';

export const ITEM_EVERY_MS = 250;
/** A caller that sends one request after the other has no job for some milliseconds between two. */
export const QUIET_MS = 100;

/** Jobs on a node: those that callers wait for, and the items that run, with the one that is to begin. */
export const isCrowded = ({ callers, items, cores }: { callers: number; items: number; cores: number }): boolean =>
  callers > 0 && callers + items >= cores;

type Placed = Pick<Runner, 'node' | 'cores' | 'task'>;

export interface OtherJobs {
  runners: Iterable<Placed>;
  isItem(job: string): boolean;
}

export class ItemPace {
  /** By node: when a job of a caller last began or ended, and when an item may begin beside one. */
  readonly #callerAt = new Map<string, number>();
  readonly #turnAt = new Map<string, number>();
  /** Chunks between two items. */
  readonly #resting = new Set<string>();

  callerSeen(runner: Placed, now: number): void {
    this.#callerAt.set(nodeOf(runner), now);
  }

  /** How long the next item of a job has to wait before it may ask again. 0: it begins now. */
  waitMs(job: string, runner: Placed, others: OtherJobs, now: number): number {
    const node = nodeOf(runner);
    const turnAt = this.#turnAt.get(node) ?? 0;
    const isPaced = isCrowded({ ...this.#jobsBeside(job, node, others, now), cores: runner.cores ?? Infinity });
    if (isPaced && now < turnAt) {
      if (runner.task?.job === job) this.#resting.add(job);
      return turnAt - now;
    }
    if (isPaced) this.#turnAt.set(node, now + ITEM_EVERY_MS);
    this.#resting.delete(job);
    return 0;
  }

  /** The chunk has no other item to begin. */
  forget(job: string): void {
    this.#resting.delete(job);
  }

  #jobsBeside(job: string, node: string, { runners, isItem }: OtherJobs, now: number) {
    let callers = 0;
    let items = 1;
    for (const one of runners) {
      if (!one.task || one.task.job === job || nodeOf(one) !== node) continue;
      if (!isItem(one.task.job)) callers += 1;
      else if (!this.#resting.has(one.task.job)) items += 1;
    }
    const wasThere = now - (this.#callerAt.get(node) ?? -Infinity) < QUIET_MS;
    return { callers: callers === 0 && wasThere ? 1 : callers, items };
  }
}
