// @ts-check
/**
 * What a connection reports.
 *
 * @typedef {{type: "opened"} | {type: "frame", text: string} | {type: "closed", code: number | null, reason: string}}
 *   TransportEvent
 */

/** The subprotocol that client and server name in the WebSocket handshake. */
const subprotocol = "scrollback.v1.json";

/** The time in milliseconds after which a connection must be open. Browsers themselves wait for minutes. */
const openTimeout = 20_000;

/** A WebSocket to the server. */
export class Connection {
  #timer;
  /** @type {WebSocket | null} */
  #socket = null;

  /**
   * @param {URL} server The address of the server, which ends with a slash.
   * @param {(event: TransportEvent) => void} report Called with each event; `closed` is the last one, and the only
   *   one if the connection can't be opened.
   */
  constructor(server, report) {
    const address = new URL("v1/connect", server);
    address.protocol = server.protocol === "https:" ? "wss:" : "ws:";
    this.#timer = setTimeout(() => {
      this.close();
      report({ type: "closed", code: null, reason: "" });
    }, openTimeout);
    try {
      const socket = new WebSocket(address, subprotocol);
      socket.onopen = () => {
        clearTimeout(this.#timer);
        report({ type: "opened" });
      };
      socket.onmessage = ({ data }) => {
        if (typeof data === "string") report({ type: "frame", text: data });
      };
      socket.onclose = ({ code, reason }) => {
        clearTimeout(this.#timer);
        // 1006 means that no close frame arrived.
        report({ type: "closed", code: code === 1006 ? null : code, reason });
      };
      this.#socket = socket;
    } catch (error) {
      // The page's content security policy, or mixed content, forbids the connection.
      clearTimeout(this.#timer);
      console.error("Scrollback: the browser refuses the connection.", error);
      report({ type: "closed", code: null, reason: "" });
    }
  }

  /** @param {string} text */
  send(text) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  /** Closes the connection and reports nothing more. */
  close() {
    clearTimeout(this.#timer);
    if (!this.#socket) return;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
  }
}
