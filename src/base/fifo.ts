/** A queue whose items may become obsolete; they are dropped lazily, when reached. */

export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;
  size = 0;
  push(item: T): void {
    this.#items.push(item);
    this.size++;
  }
  /** The first item for which `alive` holds. Others are dropped on the way. */
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
  /** The first `count` items for which `alive` holds, oldest first. */
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
