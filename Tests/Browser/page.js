// The functions that the tests call in a page. They keep what a user of the page would see. The harness evaluates this
// file in a function with the parameters `server` and `sources`, two addresses, after `Web/tests/invariants.js`.

const sdk = await import(`${server}/sdk/scrollback.js`);
/** The user of this page. Earlier pages of the origin can have had other ones. */
let owner;

/** The newest view of each timeline, by conversation. */
const views = new Map();
const timelines = new Map();

/** Returns the values of the user's object stores. */
async function stored(names) {
  const { name } = (await indexedDB.databases()).find(({ name }) => name.split(" ")[2] === owner);
  const result = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const database = await result(indexedDB.open(name));
  const transaction = database.transaction(names);
  const found = {};
  await Promise.all(names.map(async (name) => (found[name] = await result(transaction.objectStore(name).getAll()))));
  database.close();
  return found;
}

/** Waits until the client has loaded the modules of the connection, which it imports by itself. */
async function connectionLoaded() {
  const address = await new Promise((resolve) => {
    const observer = new PerformanceObserver((list) => {
      const found = list.getEntries().find(({ name }) => /\/remote(-[0-9A-Z]{8})?\.js$/.test(name));
      if (!found) return;
      observer.disconnect();
      resolve(found.name);
    });
    observer.observe({ type: "resource", buffered: true });
  });
  await import(address);
}

globalThis.test = {
  sdk,
  stored,
  events: [],

  async open(user, token) {
    owner = user;
    test.client = await sdk.ChatClient.open({ server, user, token });
    // A test may cut the network at once.
    await connectionLoaded();
    test.client.connection.subscribe((state) => (test.connection = state));
    test.client.recents({ limit: 1000 }).subscribe((list) => (test.list = list));
    test.client.onEvent((event) => test.events.push(event.type));
  },

  /** Shows a conversation, as a screen does. */
  watch(id, options) {
    if (timelines.has(id)) return;
    const timeline = test.client.conversation(id).timeline(options);
    timelines.set(id, timeline);
    timeline.subscribe((view) => views.set(id, view));
  },

  timeline: (id) => timelines.get(id),

  /** What the screen of a conversation shows. */
  items(id) {
    return (views.get(id)?.items ?? []).map((item) => ({
      type: item.type,
      id: item.id,
      seq: item.message?.seq ?? null,
      sender: item.message?.sender ?? null,
      text: (item.type === "pending" ? item.content.text : item.message?.text) ?? null,
      actions: item.message?.actions ?? [],
      state: item.state?.state ?? null,
      progress: item.state?.progress ?? null,
      range: item.range ?? null,
    }));
  },

  view: (id) => ({ ...views.get(id), items: undefined, profiles: [...views.get(id).profiles.values()] }),

  /** Shows the threads of a conversation. */
  watchThreads(id) {
    const threads = test.client.conversation(id).threads();
    threads.subscribe((view) => (test.threads = view));
    test.moreThreads = () => threads.loadMore();
  },

  /** The text, the number of replies, and the user's state of each thread. */
  shownThreads: () =>
    test.threads.threads.map(({ parent, lastReply, state }) => ({
      text: parent.text,
      replies: parent.replies.count,
      last: lastReply?.text ?? null,
      unread: state.unread,
      mentions: state.mentions,
      isFollowed: state.isFollowed,
    })),

  async send(id, text) {
    return (await test.client.conversation(id).send(text)).id;
  },

  /** Sends a file, or bytes of another type, whose content depends on the position and the name. */
  async sendFile(id, name, size, options) {
    const bytes = Uint8Array.from({ length: size }, (_, index) => index * 31 + (index >> 8) + name.charCodeAt(0));
    return (await test.client.conversation(id).sendFile(new File([bytes], name), options)).id;
  },

  /** The hash of the file of an item that is shown. */
  async hashOf(id, item) {
    const shown = views.get(id).items.find(({ id }) => id === item);
    const blob = await test.client.download((shown.content ?? shown.message.content).media.media);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()));
    return hash.toHex?.() ?? [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  },

  /** What the store has that it must not have: rows, gaps and deleted ranges must cover each log exactly. */
  async violations() {
    const { LogState } = await import(`${sources}/sdk/sync/log-state.js`);
    const { conversations, messages } = await stored(["conversations", "messages"]);
    return conversations.filter(({ log }) => log).flatMap(({ id, log }) => {
      const seqs = messages.filter(({ conversation }) => conversation === id).map(({ seq }) => seq);
      return violations(new LogState(log), seqs).map((text) => `${id}: ${text}`);
    });
  },

  /** The types of the queued requests, and the codes of those that failed. */
  async queue() {
    const { outbox } = await stored(["outbox"]);
    return outbox.map(({ request, state }) => ({ type: request.type, code: state.problem?.code ?? null }));
  },

  recent: (id) => test.list.conversations.find((conversation) => conversation.id === id) ?? null,

  /** The code of the error that a function throws, or null. */
  async codeOf(action) {
    try {
      await action();
      return null;
    } catch (error) {
      return error instanceof sdk.ScrollbackError ? error.code : error.name;
    }
  },
};
