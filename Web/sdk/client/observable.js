// @ts-check
/**
 * Calls listeners. One that fails does not keep the others from the value.
 *
 * @template Value
 * @param {Iterable<(value: Value) => void>} listeners
 * @param {Value} value
 */
export function callEach(listeners, value) {
  for (const listener of [...listeners]) {
    try {
      listener(value);
    } catch (error) {
      reportError(error);
    }
  }
}

/**
 * A value that changes over time.
 *
 * It has the three forms that web frameworks expect: `subscribe` and `getSnapshot` for React's `useSyncExternalStore`,
 * a `subscribe` that calls the listener immediately for Svelte, and an async iterator. An iterator that is slower than
 * the changes skips to the newest value.
 *
 * @template Value
 */
export class Observable {
  /** @type {Value} */
  #value;
  #isEnded = false;
  /** @type {Set<(value: Value) => void>} */
  #listeners = new Set();
  /** @type {Set<() => void>} */
  #ends = new Set();
  /** @type {(isObserved: boolean) => void} */
  #observed;

  /**
   * @param {Value} value The current value.
   * @param {(isObserved: boolean) => void} [observed] Called when the first listener subscribes, and when the last
   *   one unsubscribes.
   */
  constructor(value, observed = () => {}) {
    this.#value = value;
    this.#observed = observed;
  }

  /** The current value. */
  get value() {
    return this.#value;
  }

  /** Returns the current value, which is the same object until it changes. */
  getSnapshot = () => this.#value;

  /**
   * Calls a listener with the current value, and again after each change until the client closes.
   *
   * @param {(value: Value) => void} listener
   * @returns {() => void} A function that ends the subscription.
   */
  subscribe = (listener) => {
    /** @param {Value} value */
    const own = (value) => listener(value);
    if (this.#isEnded) {
      own(this.#value);
      return () => {};
    }
    this.#listeners.add(own);
    if (this.#listeners.size === 1) this.#observed(true);
    own(this.#value);
    return () => {
      if (this.#listeners.delete(own) && this.#listeners.size === 0) this.#observed(false);
    };
  };

  get isObserved() {
    return this.#listeners.size > 0;
  }

  /**
   * Changes the value and calls the listeners.
   *
   * @param {Value} value
   */
  set(value) {
    if (this.#isEnded || Object.is(value, this.#value)) return;
    this.#value = value;
    callEach(this.#listeners, value);
  }

  /** Ends all subscriptions and iterators, because the client closes. */
  end() {
    this.#isEnded = true;
    const wasObserved = this.#listeners.size > 0;
    this.#listeners.clear();
    if (wasObserved) this.#observed(false);
    for (const end of [...this.#ends]) end();
  }

  /**
   * Iterates over the current value and its changes, until the client closes.
   *
   * @param {AbortSignal} [signal] Ends the iteration when it aborts.
   * @returns {AsyncGenerator<Value, void, void>}
   */
  async *[Symbol.asyncIterator](signal) {
    if (signal?.aborted) return;
    let isNew = true;
    let isEnded = this.#isEnded;
    /** @type {() => void} */
    let wake = () => {};
    const end = () => {
      isEnded = true;
      wake();
    };
    this.#ends.add(end);
    signal?.addEventListener("abort", end, { once: true });
    const unsubscribe = this.subscribe(() => {
      isNew = true;
      wake();
    });
    try {
      while (true) {
        if (isNew) {
          isNew = false;
          yield this.#value;
        } else if (isEnded) {
          return;
        } else {
          await new Promise((resolve) => (wake = () => resolve(undefined)));
        }
      }
    } finally {
      unsubscribe();
      this.#ends.delete(end);
      signal?.removeEventListener("abort", end);
    }
  }
}
