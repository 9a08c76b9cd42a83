// @ts-check
/**
 * A queue of inputs with one reader.
 *
 * @template Input
 */
export class Mailbox {
  /** @type {Input[]} */
  #inputs = [];
  #isClosed = false;
  /** @type {() => void} */
  #wake = () => {};

  /**
   * Adds an input.
   *
   * @param {Input} input
   * @returns {boolean} Whether the mailbox is open.
   */
  post(input) {
    if (this.#isClosed) return false;
    this.#inputs.push(input);
    this.#wake();
    return true;
  }

  /**
   * Waits for inputs and returns all of them, in order.
   *
   * @returns {Promise<Input[]>}
   */
  async take() {
    if (this.#inputs.length === 0) {
      await new Promise((resolve) => (this.#wake = () => resolve(undefined)));
    }
    return this.#inputs.splice(0);
  }

  /** Refuses further inputs and returns those that were not taken. */
  close() {
    this.#isClosed = true;
    return this.#inputs.splice(0);
  }
}
