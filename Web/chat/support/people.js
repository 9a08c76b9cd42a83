// @ts-check
import { Observable } from "../../sdk/scrollback.js";
import { plain } from "./text.js";

/** @typedef {import("../../sdk/scrollback.js").ChatClient} ChatClient */

/** The names of users, which are loaded when they are first shown. */
export class People {
  /** Increases when names have been loaded. */
  changes = new Observable(0);
  #client;
  /** @type {Map<string, string | null>} */
  #names = new Map();
  /** @type {Set<string>} */
  #wanted = new Set();
  #isLoading = false;

  /** @param {ChatClient} client */
  constructor(client) {
    this.#client = client;
    client.connection.subscribe(({ state }) => {
      if (state === "online") this.#load();
    });
  }

  /**
   * Returns the display name of a user, or the user's ID until the name is known.
   *
   * @param {string} user
   */
  name(user) {
    if (!this.#names.has(user)) {
      this.#names.set(user, null);
      this.#wanted.add(user);
      queueMicrotask(() => this.#load());
    }
    return plain(this.#names.get(user) ?? user) || user;
  }

  async #load() {
    if (this.#isLoading || this.#wanted.size === 0) return;
    this.#isLoading = true;
    const users = [...this.#wanted].slice(0, 100);
    try {
      const profiles = await this.#client.profiles(users);
      for (const { user, name } of profiles.values()) if (name) this.#names.set(user, name);
      for (const user of users) this.#wanted.delete(user);
      this.changes.set(this.changes.value + 1);
      this.#isLoading = false;
      this.#load();
    } catch {
      // The names are loaded after the next connection.
      this.#isLoading = false;
    }
  }
}
