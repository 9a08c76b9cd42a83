// @ts-check
import { ScrollbackError } from "../model/errors.js";
import { Observable } from "./observable.js";

/** @typedef {import("./core.js").Core} Core */
/** @typedef {import("./core.js").Subject} Subject */

/** The delay in milliseconds after which a failed read is repeated. */
const retryDelay = 1000;

/**
 * A value that is read from the store, and again after each change, while it is observed and the client is open.
 *
 * Changes are coalesced while a read is in progress.
 *
 * @template Value
 * @extends {Observable<Value>}
 */
export class LiveView extends Observable {
  #core;
  #read;
  #isReading = false;
  #isOutdated = false;
  /** The conversations that changed since the last read; `null` for all. @type {ReadonlySet<string> | null} */
  #changes = null;
  /** @type {() => void} */
  #unobserve = () => {};

  /**
   * @param {Core} core
   * @param {Subject} subject
   * @param {Value} initial The value until the first read.
   * @param {(changes: ReadonlySet<string> | null) => Promise<Value>} read Receives the conversations that changed since
   *   the last read; `null` for all.
   */
  constructor(core, subject, initial, read) {
    super(initial, (isObserved) => {
      this.#unobserve();
      this.#unobserve = () => {};
      if (!isObserved) return;
      this.#changes = null;
      this.#unobserve = core.observe(subject, (ids) => {
        this.#changes = ids && this.#changes && new Set([...this.#changes, ...ids]);
        this.refresh();
      }, () => this.end());
      this.refresh();
    });
    this.#core = core;
    this.#read = read;
  }

  /** Reads the value again. */
  async refresh() {
    this.#isOutdated = true;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isOutdated && this.isObserved) {
      this.#isOutdated = false;
      const changes = this.#changes;
      this.#changes = new Set();
      try {
        this.set(await this.#read(changes));
        this.#core.viewed();
      } catch (error) {
        if (error instanceof ScrollbackError && error.code === "closed") break;
        this.#core.storageFailed(error);
        this.#changes = null;
        // Without a repetition, an observer would stop permanently after a single failure.
        this.#isOutdated = true;
        await new Promise((resolve) => setTimeout(resolve, retryDelay));
      }
    }
    this.#isReading = false;
  }
}
