// @ts-check
import { element } from "../support/dom.js";
import { errorText, plural, t, timeText } from "../support/text.js";

/** @typedef {import("../../sdk/scrollback.js").ChatClient} ChatClient */

/** Says when the client is not online, and when the storage has failed. It is empty while everything works. */
export class ConnectionBar extends HTMLElement {
  #client;

  /** @param {ChatClient} client */
  constructor(client) {
    super();
    this.#client = client;
  }

  connectedCallback() {
    this.role = "status";
    this.#client.connection.subscribe(() => this.#render());
    this.#client.storage.subscribe(() => this.#render());
  }

  #render() {
    const { state } = this.#client.connection.value;
    this.dataset["state"] = state;
    this.replaceChildren(...this.#storage(), ...this.#connection());
  }

  /** Whether the client was closed, because another tab deleted or replaced its store. */
  get #isClosed() {
    const connection = this.#client.connection.value;
    return connection.state === "rejected" && connection.error.code === "local-storage";
  }

  #storage() {
    const { loss, error } = this.#client.storage.value;
    const texts = [];
    if (error && !this.#isClosed) texts.push(`${t("storageFailed")} ${errorText(error)}`);
    if (loss) {
      texts.push(loss.unsent === 0 ? t("storageLost") : plural("storageLostOne", "storageLostOther", loss.unsent));
    }
    return texts.map((text) => element("p", { class: "error" }, text));
  }

  #connection() {
    const connection = this.#client.connection.value;
    // Only another page can load a part of the SDK that could not be loaded, or open a store that another tab deleted.
    const mustReload = connection.state === "rejected" &&
      ["unreachable", "local-storage"].includes(connection.error.code);
    const retry = (/** @type {string} */ label) =>
      element(
        "button",
        { type: "button", click: () => mustReload ? location.reload() : this.#client.connect() },
        label,
      );
    switch (connection.state) {
      case "online":
        return [];
      case "connecting":
        return [element("p", { class: "late" }, t("connecting"))];
      case "waiting":
        return [element("p", {}, t("offlineUntil", { time: timeText(connection.until) }), " ", retry(t("tryNow")))];
      case "idle":
        return [element("p", {}, t("disconnected"))];
      case "rejected":
        return [
          this.#isClosed ? element("p", { class: "error" }, t("storageClosed"), " ", retry(t("tryNow"))) : element(
            "p",
            { class: "error" },
            t("rejected"),
            " ",
            errorText(connection.error),
            " ",
            retry(t("tryNow")),
          ),
        ];
    }
  }
}

customElements.define("connection-bar", ConnectionBar);
