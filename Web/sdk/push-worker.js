// @ts-check

// The part of a service worker that shows the pushes of the server. Import it into the service worker of the app, with
// `importScripts` or `import`, or register it itself. It has no imports, so that a classic script can use it.

/**
 * The payload of a push, as `Documentation/protocol.md` and `Documentation/push-services/credentials.md` describe it.
 *
 * @typedef {object} Payload
 * @property {string} [title]
 * @property {string} body
 * @property {string} tag
 * @property {string} [image]
 * @property {boolean} [silent]
 * @property {boolean} [requireInteraction]
 * @property {number} [badge] The number of unread messages.
 * @property {{conversation: string, message: string, receiver: string, link?: string}} scrollback
 * @property {string} [appData]
 */

/**
 * The members of a service worker's scope that the declarations of pages do not have.
 *
 * @typedef {object} Scope
 * @property {ServiceWorkerRegistration} registration
 * @property {{matchAll(options: object): Promise<Window[]>, openWindow(url: string): Promise<unknown>}} clients
 * @property {(type: string, listener: (event: any) => void) => void} addEventListener
 */

/**
 * A window of the app.
 *
 * @typedef {object} Window
 * @property {string} url
 * @property {() => Promise<unknown>} focus
 * @property {(message: unknown) => void} postMessage
 */

{
  const scope = /** @type {Scope} */ (/** @type {unknown} */ (globalThis));

  /**
   * Returns the payload of a push of the server; `null` for any other push, which the app handles itself.
   *
   * @param {{json(): any} | null} data
   * @returns {Payload | null}
   */
  const payloadOf = (data) => {
    try {
      const payload = data?.json();
      return payload?.scrollback?.conversation ? payload : null;
    } catch {
      return null;
    }
  };

  /** @param {Payload} payload */
  const show = async ({ title, body, badge, scrollback, appData, ...options }) => {
    // A notification must have a title. A push without one has only a text, such as "New message".
    const texts = title === undefined ? { title: body } : { title, body };
    const shown = { ...options, ...texts, data: { scrollback, appData } };
    if (badge !== undefined) navigator.setAppBadge?.(badge).catch(() => {});
    await scope.registration.showNotification(shown.title, shown);
  };

  /** @param {string} url */
  const pageOf = (url) => url.split(/[?#]/)[0];

  /**
   * Shows the page of a link: an open window with it, or a new one. Without a link, or with one for native apps, it is
   * any window of the app.
   *
   * @param {Pick<Payload, "scrollback" | "appData">} data
   */
  const open = async (data) => {
    const { link } = data.scrollback;
    const url = link?.startsWith("http") ? link : scope.registration.scope;
    const windows = await scope.clients.matchAll({ type: "window", includeUncontrolled: true });
    const window = windows.find((window) =>
      url === link ? pageOf(window.url) === pageOf(url) : window.url.startsWith(url)
    );
    if (!window) return void await scope.clients.openWindow(url);
    await window.focus();
    window.postMessage(data);
  };

  scope.addEventListener("push", (event) => {
    const payload = payloadOf(event.data);
    if (payload) event.waitUntil(show(payload));
  });

  scope.addEventListener("notificationclick", (event) => {
    const { data } = event.notification;
    if (!data?.scrollback) return;
    event.notification.close();
    event.waitUntil(open(data));
  });

  // The client registers the new subscription the next time that it connects.
  scope.addEventListener("pushsubscriptionchange", (event) => {
    const options = event.newSubscription ? null : event.oldSubscription?.options;
    if (options) event.waitUntil(scope.registration.pushManager.subscribe(options));
  });
}
