// Measures when a page shows something. The benchmark evaluates this file before the scripts of each page.

/** Resolves with the time at which the browser has drawn the changes that were made so far. */
const painted = () =>
  new Promise((resolve) =>
    requestAnimationFrame(() => {
      // The message is delivered after the style, the layout and the paint of this frame.
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve(performance.now());
      port2.postMessage(null);
    })
  );

/** Resolves with the time at which the browser has drawn a state of the document. */
const shown = (condition) =>
  new Promise((resolve) => {
    const check = () => {
      if (!condition()) return false;
      observer.disconnect();
      painted().then(resolve);
      return true;
    };
    const observer = new MutationObserver(check);
    if (!check()) observer.observe(document, { childList: true, subtree: true, characterData: true, attributes: true });
  });

globalThis.probe = {
  painted,
  shown,

  /** When the first conversations are drawn, in milliseconds since the navigation started. */
  list: shown(() => document.querySelector("conversation-list nav li") !== null),

  /** When the last script of the page had arrived. */
  scripts: () =>
    Math.max(0, ...performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"))
      .map(({ responseEnd }) => responseEnd)),

  /** The time from each key to the drawn change of its field. */
  keys: [],

  /** The time from the next Enter until a condition is drawn. */
  sent: (condition) =>
    new Promise((resolve) =>
      addEventListener("keydown", async ({ timeStamp }) => resolve(await shown(condition) - timeStamp), {
        once: true,
        capture: true,
      })
    ),

  /**
   * Scrolls for a time at a constant speed, back and forth if the document ends. Returns the intervals between frames,
   * and the number of frames in which the page could not scroll.
   */
  scroll: (scroller, seconds, pixelsPerSecond, turns) =>
    new Promise((resolve) => {
      const intervals = [];
      let [stopped, last, direction] = [0, null, -1];
      const frame = (now) => {
        const elapsed = last === null ? 0 : now - last;
        if (last !== null) intervals.push(elapsed);
        last = now;
        const before = scroller.scrollTop;
        scroller.scrollTop = before + direction * pixelsPerSecond * Math.min(elapsed, 100) / 1000;
        if (elapsed > 0 && scroller.scrollTop === before) {
          if (turns) direction = -direction;
          else stopped += 1;
        }
        seconds -= elapsed / 1000;
        if (seconds > 0) requestAnimationFrame(frame);
        else resolve({ intervals, stopped });
      };
      requestAnimationFrame(frame);
    }),
};

let pressed = 0;
addEventListener("keydown", ({ timeStamp }) => (pressed = timeStamp), { capture: true });
addEventListener("input", async () => {
  const start = pressed;
  probe.keys.push(await painted() - start);
}, { capture: true });
