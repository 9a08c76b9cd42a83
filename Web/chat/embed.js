// @ts-check

/**
 * The chat page as an element of another page:
 *
 *     <script type="module" src="https://chat.example.org/chat/embed.js"></script>
 *     <scrollback-chat server="https://chat.example.org/"></scrollback-chat>
 *
 * Set the property `token` to a token of the user, or to a function that returns one or a promise of one. The element
 * calls the function for each connection. A chat of the same user with another `store` is another device.
 *
 * The element dispatches `statechange`, with the state of the connection and the number of unread messages in `detail`.
 */
export class ScrollbackChat extends HTMLElement {
  static get observedAttributes() {
    return ["server"];
  }

  /** @type {string | (() => string | Promise<string>)} */
  #token = "";
  #frame = document.createElement("iframe");
  #isReady = false;
  #listener = new AbortController();

  get token() {
    return this.#token;
  }

  set token(token) {
    this.#token = token;
    if (this.#isReady) this.#sendToken();
  }

  connectedCallback() {
    this.#listener = new AbortController();
    addEventListener("message", (event) => this.#received(event), { signal: this.#listener.signal });
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const style = new CSSStyleSheet();
    const rules = [
      ":host { display: block; block-size: 30rem; }",
      ":host([hidden]) { display: none; }",
      "iframe { inline-size: 100%; block-size: 100%; border: 0; display: block; }",
    ];
    style.replaceSync(rules.join("\n"));
    root.adoptedStyleSheets = [style];
    this.#frame.title = this.title || "Scrollback";
    this.#frame.allow = "clipboard-write; autoplay";
    root.append(this.#frame);
    this.#load();
  }

  disconnectedCallback() {
    this.#listener.abort();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#load();
  }

  /** Closes the connection until `connect()`, as if the device were offline. */
  disconnect() {
    this.#post({ type: "scrollback-disconnect" });
  }

  connect() {
    this.#post({ type: "scrollback-connect" });
  }

  /** The address of the chat page: by default, of the server that this file is from. */
  get #server() {
    return new URL(this.getAttribute("server") ?? new URL("..", import.meta.url), document.baseURI);
  }

  #load() {
    this.#isReady = false;
    this.#frame.src = this.#server.href;
  }

  /** @param {MessageEvent} event */
  #received({ source, origin, data }) {
    if (source !== this.#frame.contentWindow || origin !== this.#server.origin) return;
    if (data?.type === "scrollback-ready") this.#isReady = true;
    if (["scrollback-ready", "scrollback-token-wanted"].includes(data?.type)) this.#sendToken();
    if (data?.type === "scrollback-state") {
      const { connection, unread } = data;
      this.dispatchEvent(new CustomEvent("statechange", { detail: { connection, unread } }));
    }
  }

  async #sendToken() {
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    if (token !== "") this.#post({ type: "scrollback-token", token, store: this.getAttribute("store") });
  }

  /** @param {object} message The token must not reach another page, so the message names the server's origin. */
  #post(message) {
    this.#frame.contentWindow?.postMessage(message, this.#server.origin);
  }
}

customElements.define("scrollback-chat", ScrollbackChat);
