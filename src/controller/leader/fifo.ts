/** A queue whose items may be dead by the time they are reached; dead ones cost nothing until then. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;
  size = 0;
  push(item: T): void {
    this.#items.push(item);
    this.size++;
  }
  /** First item that `alive` still wants; dead ones are dropped on the way. */
  peek(alive: (item: T) => boolean): T | undefined {
    while (this.#head < this.#items.length) {
      const item = this.#items[this.#head] as T;
      if (alive(item)) return item;
      this.#advance();
    }
    return undefined;
  }
  shift(): void {
    this.#advance();
  }
  /** The first so many that `alive` still wants, oldest first. */
  *first(count: number, alive: (item: T) => boolean): Iterable<T> {
    for (let at = this.#head, left = count; at < this.#items.length && left > 0; at++) {
      const item = this.#items[at] as T;
      if (!alive(item)) continue;
      left--;
      yield item;
    }
  }
  #advance(): void {
    this.#items[this.#head++] = undefined;
    this.size--;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }
}
