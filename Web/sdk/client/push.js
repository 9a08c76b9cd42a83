// @ts-check
import { ScrollbackError } from "../model/errors.js";
import { getMeta, setMeta } from "../store/meta.js";
import { LiveView } from "./live-view.js";

/** @typedef {import("../store/meta.js").PushRow} PushRow */
/** @typedef {import("../store/meta.js").PushSubscriber} PushSubscriber */
/** @typedef {import("./core.js").Core} Core */

/** What changes of the registration concern. No conversation has this ID. */
export const pushSubject = { id: "push" };

/** 65 bytes in base64url, of which the first is 4: an uncompressed P-256 point. */
const publicKey = /^B[\w-]{86}$/;

/** The time in milliseconds that signing out waits for the server to end pushes. */
const unregistrationTimeout = 3000;

/**
 * The state of this browser's registration for pushes.
 *
 * - `off`: not registered, and the server has confirmed it
 * - `waiting`: the last change is stored in this browser, and sent to the server when there is a connection
 * - `registered`: the server sends pushes to this browser
 * - `refused`: the server rejected the registration with `error`; the client tries again on the next connection
 *
 * @typedef {{state: "off" | "waiting" | "registered"} | {state: "refused", error: ScrollbackError}} PushState
 */

/**
 * A notification that the user clicked.
 *
 * @typedef {object} PushClick
 * @property {string} conversation
 * @property {string} message The ID of the message.
 * @property {string | null} data The sender's data for the app.
 */

/** Push notifications to this browser (Web Push). */
export class Push {
  #core;

  /** @param {Core} core */
  constructor(core) {
    this.#core = core;
    /**
     * The state of the registration.
     *
     * @type {LiveView<PushState>}
     */
    this.state = new LiveView(core, pushSubject, /** @type {PushState} */ ({ state: "off" }), async () => {
      const row = await this.#row();
      if (row?.refusal) return { state: "refused", error: ScrollbackError.from(row.refusal) };
      if (row && !row.isAcknowledged) return { state: "waiting" };
      return { state: row?.wanted ? "registered" : "off" };
    });
  }

  #row() {
    return this.#core.store.read((transaction) => getMeta(transaction, "push"));
  }

  /**
   * Asks the user for the permission to show notifications, and registers this browser for pushes to the user. Browsers
   * ask only after a click.
   *
   * The promise resolves when the registration is stored in this browser. The client then sends it to the server, and
   * again if the server has lost it or the browser has changed the subscription. A subscription belongs to the user who
   * registered it last.
   *
   * @param {object} options
   * @param {ServiceWorkerRegistration} options.serviceWorker The registration of a service worker that imports
   *   `push-worker.js`, as `navigator.serviceWorker.register()` returns it.
   * @param {string} options.applicationServerKey The public key of the server's Web Push key pair, in base64url.
   * @param {string} [options.language] The language of the texts, a BCP 47 tag, unless the user's preferences name one.
   *   The default is the language of the browser.
   * @throws {ScrollbackError} `invalid-parameter`. `push-denied` if the user doesn't allow notifications.
   *   `push-unavailable` if this page or browser has no Web Push. `unreachable` if the browser's push service did not
   *   answer. `local-storage` if the registration can't be stored.
   */
  async register({ serviceWorker, applicationServerKey, language = navigator.language }) {
    if (!globalThis.isSecureContext) {
      throw new ScrollbackError("push-unavailable", "Web Push requires a secure context. Use HTTPS or localhost.");
    }
    if (!navigator.serviceWorker || !globalThis.PushManager || !globalThis.Notification) {
      const reason = "This browser has no Web Push here. On iOS, the user must add the page to the Home Screen first.";
      throw new ScrollbackError("push-unavailable", reason);
    }
    if (typeof serviceWorker?.pushManager?.subscribe !== "function") {
      const reason = "must be the registration that navigator.serviceWorker.register() returned; await it";
      throw ScrollbackError.invalidParameter("serviceWorker", reason);
    }
    if (!publicKey.test(applicationServerKey)) {
      const reason = "must be the public key of the server's Web Push key pair: 65 bytes in base64url without padding";
      throw ScrollbackError.invalidParameter("applicationServerKey", reason);
    }
    const parts = { scope: serviceWorker.scope, applicationServerKey };
    // Nothing is awaited before, because browsers ask only directly after a click.
    if (await Notification.requestPermission() !== "granted") throw pushDenied();
    const subscription = await subscribe(serviceWorker, applicationServerKey);
    await setPush(this.#core, subscriber(this.#core, subscription, parts, language));
  }

  /**
   * Ends pushes to this browser: the browser's subscription at once, and the registration as soon as the server can be
   * reached. Signing out does the same.
   *
   * @throws {ScrollbackError} `local-storage` if the change can't be stored.
   */
  async unregister() {
    const row = await this.#row();
    if (!row?.wanted) return;
    await setPush(this.#core, null, row);
    try {
      const registration = await serviceWorkerOf(row.wanted.scope);
      const subscription = await registration?.pushManager.getSubscription();
      // Another client of this page can have registered another subscription.
      if (subscription?.endpoint === row.wanted.device.token) await subscription.unsubscribe();
    } catch (error) {
      // The server stops the pushes in any case.
      console.warn("Scrollback: the browser's push subscription could not be ended.", error);
    }
  }

  /** Ends pushes before the data of the registration is deleted, as far as that is possible within 3 seconds. */
  async signOut() {
    if (!(await this.#row())?.wanted) return;
    await this.unregister();
    const request = { type: "dropPushDevice", device: this.#core.device };
    await this.#core.request(request, { timeout: unregistrationTimeout }).catch(() => {});
  }

  /**
   * Calls a function when the user clicks a notification while a page of the app is open, which is then in front. Show
   * the conversation there.
   *
   * @param {(click: PushClick) => void} listener
   * @returns {() => void} A function that ends it. Closing the client ends it, too.
   */
  onClick(listener) {
    const controller = new AbortController();
    navigator.serviceWorker?.addEventListener("message", ({ data }) => {
      const { conversation, message, receiver } = data?.scrollback ?? {};
      if (receiver === this.#core.user) listener({ conversation, message, data: data.appData ?? null });
    }, { signal: AbortSignal.any([controller.signal, this.#core.page.signal]) });
    navigator.serviceWorker?.startMessages();
    return () => controller.abort();
  }
}

/**
 * Waits until a service worker can receive pushes.
 *
 * @param {ServiceWorkerRegistration} registration
 * @throws {ScrollbackError} `push-unavailable` if its script can't be installed.
 */
async function activated(registration) {
  const worker = registration.installing ?? registration.waiting;
  while (!registration.active) {
    if (!worker || worker.state === "redundant") {
      throw new ScrollbackError("push-unavailable", "The service worker was not installed. Check its script.");
    }
    await new Promise((resolve) => worker.addEventListener("statechange", resolve, { once: true }));
  }
}

/**
 * Subscribes to pushes. A subscription to another key ends.
 *
 * @param {ServiceWorkerRegistration} registration
 * @param {string} applicationServerKey
 * @returns {Promise<PushSubscription>}
 */
async function subscribe(registration, applicationServerKey) {
  const { pushManager } = registration;
  const options = { userVisibleOnly: true, applicationServerKey };
  await activated(registration);
  try {
    try {
      return await pushManager.subscribe(options);
    } catch (error) {
      const other = nameOf(error) === "InvalidStateError" ? await pushManager.getSubscription() : null;
      if (!other) throw error;
      await other.unsubscribe();
      return await pushManager.subscribe(options);
    }
  } catch (cause) {
    if (nameOf(cause) === "NotAllowedError") throw pushDenied();
    throw new ScrollbackError("unreachable", "The browser's push service did not subscribe. Try again.", { cause });
  }
}

/** @param {unknown} error */
const nameOf = (error) => error instanceof DOMException ? error.name : "";

/** The error for a user who did not allow notifications. */
const pushDenied = () =>
  new ScrollbackError("push-denied", "The user did not allow notifications. The browser's settings can change it.");

/**
 * Returns the registration of a subscription.
 *
 * @param {Core} core
 * @param {PushSubscription} subscription
 * @param {Omit<PushSubscriber, "device">} parts
 * @param {string | undefined} language
 * @returns {PushSubscriber}
 */
function subscriber({ device }, subscription, parts, language) {
  const { endpoint: token = "", keys = {} } = subscription.toJSON();
  const { p256dh = "", auth = "" } = keys;
  return { ...parts, device: { device, service: "web", token, language, keys: { p256dh, auth } } };
}

/**
 * Stores the desired registration, unless it changed in the meantime, and lets the leading tab send it.
 *
 * @param {Core} core
 * @param {PushSubscriber | null} wanted
 * @param {PushRow} [known] The row that the change is based on.
 */
async function setPush(core, wanted, known) {
  await core.store.write(async (transaction) => {
    const row = await getMeta(transaction, "push");
    if (known && row?.version !== known.version) return;
    const version = (row?.version ?? 0) + 1;
    // Even an unchanged registration is sent again, because a subscription can change its owner.
    setMeta(transaction, "push", { wanted, isAcknowledged: false, refusal: null, version });
  });
  core.changed([pushSubject.id]);
  core.post({ type: "pushChanged" });
}

/**
 * Returns the service worker's registration with a scope.
 *
 * @param {string} scope
 */
async function serviceWorkerOf(scope) {
  const registration = await navigator.serviceWorker.getRegistration(scope);
  return registration?.scope === scope ? registration : null;
}

/**
 * Registers the current subscription if the browser replaced or ended the registered one. If the user took back the
 * permission, or the app removed the service worker, it unregisters.
 *
 * @param {Core} core
 */
export async function renewSubscription(core) {
  if (!globalThis.navigator?.serviceWorker) return;
  try {
    const row = await core.store.read((transaction) => getMeta(transaction, "push"));
    if (!row?.wanted) return;
    const { device, ...parts } = row.wanted;
    const registration = await serviceWorkerOf(parts.scope);
    if (!registration || Notification.permission !== "granted") return await setPush(core, null, row);
    const current = await registration.pushManager.getSubscription() ??
      await subscribe(registration, parts.applicationServerKey);
    const wanted = subscriber(core, current, parts, device.language);
    if (JSON.stringify(wanted.device) !== JSON.stringify(device)) await setPush(core, wanted, row);
  } catch (error) {
    if (error instanceof ScrollbackError && error.code === "closed") return;
    // The next connection tries again.
    console.warn("Scrollback: the push subscription could not be checked.", error);
  }
}
