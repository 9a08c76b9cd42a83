// @ts-check

/** @typedef {import("../model/errors.js").ScrollbackError} ScrollbackError */

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
    return this.drain();
  }

  /** Returns the inputs that were not taken, in order. */
  drain() {
    return this.#inputs.splice(0);
  }

  /** Refuses further inputs and returns those that were not taken. */
  close() {
    this.#isClosed = true;
    return this.drain();
  }
}

/**
 * Answers the inputs that wait for an answer, because the loop does not handle them.
 *
 * @param {readonly import("./driver.js").Input[]} inputs
 * @param {ScrollbackError} error
 */
export function refuse(inputs, error) {
  for (const input of inputs) {
    if (input.type === "request") input.reply({ body: null, error });
    else if ("reply" in input) input.reply(Promise.reject(error));
  }
}
