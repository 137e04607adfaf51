/**
 * How many calls for the status of ProbeJobs run at once. A whole queue may end together, and an API server that is
 * sent more than it answers within the time-out of a write answers nothing in time. So the bound follows the server: it
 * is halved when a call is not answered in time, and rises by one after as many answers as there are calls. Accounts
 * take turns: one that creates hundreds of jobs with kubectl must not delay the admissions of another.
 */
import { isKubeError } from '../../../platform/kube/client.ts';
import { Fifo } from './fifo.ts';

const FIRST = 32;
/** As many as one HTTP/2 connection carries. */
const MOST = 100;
/** One in this many turns goes to the calls that can wait, even while others do. */
const LATER_TURN = 4;

export interface TurnOptions {
  /** Undefined: of a job that was refused before its token was known. These share one turn. */
  account: number | undefined;
  /** Neither a slot nor a runner depends on it. */
  later?: boolean;
}

/** Calls that wait: accounts in turn, and those of one account first in, first out. */
class WaitingCalls {
  readonly #byAccount = new Map<number | undefined, Fifo<() => void>>();
  size = 0;

  push(account: number | undefined, start: () => void): void {
    let calls = this.#byAccount.get(account);
    if (!calls) this.#byAccount.set(account, (calls = new Fifo()));
    calls.push(start);
    this.size++;
  }

  next(): (() => void) | undefined {
    for (const [account, calls] of this.#byAccount) {
      this.#byAccount.delete(account);
      const start = calls.peek(() => true);
      calls.shift();
      if (calls.size > 0) this.#byAccount.set(account, calls);
      this.size--;
      return start;
    }
    return undefined;
  }
}

export class WriteTurns {
  readonly #urgent = new WaitingCalls();
  readonly #later = new WaitingCalls();
  #bound = FIRST;
  #running = 0;
  #turn = 0;
  /** Counts the times that the bound was halved: calls that began before the last one say nothing new. */
  #halved = 0;

  get bound(): number {
    return Math.floor(this.#bound);
  }
  get running(): number {
    return this.#running;
  }
  get waiting(): number {
    return this.#urgent.size + this.#later.size;
  }

  async run<T>(call: () => Promise<T>, { account, later = false }: TurnOptions): Promise<T> {
    if (this.#running < this.bound && this.waiting === 0) this.#running++;
    else await new Promise<void>((resolve) => (later ? this.#later : this.#urgent).push(account, resolve));
    const halved = this.#halved;
    try {
      const answer = await call();
      this.#answered();
      return answer;
    } catch (error) {
      if (!isKubeError(error, 'timeout', 'too-many-requests')) this.#answered();
      else if (halved === this.#halved) {
        this.#bound = Math.max(1, this.#bound / 2);
        this.#halved++;
      }
      throw error;
    } finally {
      this.#running--;
      while (this.#running < this.bound && this.#next());
    }
  }

  #answered(): void {
    this.#bound = Math.min(MOST, this.#bound + 1 / this.#bound);
  }

  #next(): boolean {
    const isLatersTurn = this.#urgent.size === 0 || ++this.#turn % LATER_TURN === 0;
    const queue = isLatersTurn && this.#later.size > 0 ? this.#later : this.#urgent;
    const start = queue.next();
    if (start === undefined) return false;
    this.#running++;
    start();
    return true;
  }
}
