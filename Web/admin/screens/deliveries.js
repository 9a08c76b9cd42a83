// The delivery log of one webhook for events, and sending its events again.
import { APIError, segment } from "../api.js";
import { count, time } from "../format.js";
import { confirm } from "../parts/confirm.js";
import { badge, bdi, button, link, make } from "../parts/dom.js";
import { Field, input, select } from "../parts/field.js";
import { PagedTable } from "../parts/paged-table.js";
import { Screen, sentence } from "../parts/screen.js";

/** @typedef {import("../api.js").AdminAPI} AdminAPI */
/** @typedef {import("../api.js").RequestOptions} RequestOptions */
/** @typedef {import("../types.js").Delivery} Delivery */

/**
 * The deliveries to a webhook, newest first.
 *
 * @param {AdminAPI} api
 * @param {string} webhook
 * @param {RequestOptions} options
 * @returns {Promise<{ deliveries: Delivery[], cursor?: string }>}
 */
export const listDeliveries = (api, webhook, options) =>
  api.get(`/v1/webhooks/${segment(webhook)}/deliveries`, options);

export class DeliveryScreen extends Screen {
  #from = new Field("from", "First number", number({ required: true }));
  #through = new Field("through", "Last number", number(), "Empty sends only the first one.");
  /** @type {PagedTable<Delivery> | undefined} */
  #table;

  get #webhook() {
    return this.path[0] ?? "";
  }

  titleText() {
    return `Deliveries to ${this.#webhook}`;
  }

  build() {
    const states = select([["", "All"], ["pending", "Pending"], ["delivered", "Delivered"]]);
    const state = new Field("state", "State", states);
    /** @type {PagedTable<Delivery>} */
    const table = new PagedTable(this, {
      caption: this.titleText(),
      empty: "No delivery is here.",
      columns: [
        ["Number", (row) => row.number],
        ["Event", (row) => row.event !== undefined && bdi(row.event)],
        ["Conversation", (row) => place(row)],
        ["State", (row) => [stateBadge(row), row.replayOf !== undefined && badge("sent again", "quiet")]],
        ["Attempts", (row) => attempts(row)],
        ["Last error", (row) => row.error !== undefined && bdi(row.error)],
        ["", (row) => canBeSentAgain(row) && button("Send again", () => this.#confirm(row.number, row.number))],
      ],
      load: async (cursor, signal) => {
        const query = { state: states.value, cursor, limit: 50 };
        const page = await listDeliveries(this.api, this.#webhook, { query, signal });
        return { ...page, rows: page.deliveries };
      },
    });
    this.#table = table;
    states.addEventListener("change", () => table.reload());
    this.append(
      link(["webhooks"], "All webhooks", { class: "back" }),
      make(
        "p",
        {},
        "The server keeps delivered events for as many hours as the setting webhooks.logHours says, 24 by default. " +
          "Pending events wait until your program accepts them.",
      ),
      make("div", { class: "filter" }, state.element, button("Refresh", () => table.reload())),
      table.element,
      make("section", {}, make("h2", {}, "Send a range again"), this.#form()),
    );
    table.reload();
  }

  #form() {
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      const from = Number(this.#from.control.value);
      const { value } = this.#through.control;
      this.#confirm(from, value === "" ? from : Number(value), [this.#from, this.#through]);
    };
    return make(
      "form",
      { class: "card", onsubmit: submit, "aria-label": "Send a range again" },
      make("p", {}, "Sends the delivered events of a range once more, for example after your program lost them."),
      this.#from.element,
      this.#through.element,
      make("div", { class: "buttons" }, make("button", { type: "submit", class: "main" }, "Send again…")),
    );
  }

  /**
   * @param {number} from
   * @param {number} through
   * @param {Field[]} [fields] Those that show an error of the server.
   */
  async #confirm(from, through, fields) {
    const [object, pronoun] = from === through ? [`event ${from}`, "it"] : [`the events ${from} to ${through}`, "them"];
    const isConfirmed = await confirm({
      title: `Send ${object} again?`,
      text: `The webhook ${this.#webhook} receives ${pronoun} once more, after the events that are pending.`,
      action: "Send again",
    });
    if (!isConfirmed) return;
    const failure = from === through ? "The event was not sent again." : "Not all events were sent again.";
    await this.run(failure, async () => {
      const sent = await this.#sendAgain(from, through);
      await this.#table?.reload();
      this.say(sent === 1 ? "1 event is sent again." : `${count(sent)} events are sent again.`);
    }, fields);
  }

  /**
   * @param {number} from
   * @param {number} through
   * @returns {Promise<number>} How many events are sent again.
   */
  async #sendAgain(from, through) {
    const path = `/v1/webhooks/${segment(this.#webhook)}/replay`;
    let sent = 0;
    /** @type {number | undefined} */
    let next = from;
    while (next !== undefined) {
      try {
        // One request sends at most 100 events.
        const answer = /** @type {{ count: number, next?: number }} */ (
          await this.api.change("POST", path, { body: { from: next, through } })
        );
        sent += answer.count;
        next = answer.next;
      } catch (error) {
        if (sent === 0 || !(error instanceof APIError)) throw error;
        const detail = `${sentence(error.message)} The ${sent} events below number ${next} are sent again.`;
        throw new APIError({ code: error.code, detail });
      }
    }
    return sent;
  }
}

/** @param {Record<string, unknown>} [attributes] */
const number = (attributes = {}) => input({ type: "number", min: 1, step: 1, ...attributes });

/** @param {Delivery} delivery */
const canBeSentAgain = ({ state, replayOf }) => state === "delivered" && replayOf === undefined;

/** @param {Delivery} delivery */
const place = ({ conversation, seq }) => [
  conversation !== undefined && link(["conversations", conversation], bdi(conversation)),
  seq !== undefined && ` message ${seq}`,
];

/** @param {Delivery} delivery */
const attempts = ({ attempts, attemptedAt }) =>
  attemptedAt === undefined ? count(attempts) : `${count(attempts)}, the last one ${time(attemptedAt)}`;

/** @param {Delivery} delivery */
function stateBadge({ state, error }) {
  if (state === "delivered") return badge("delivered", "good");
  return badge("pending", error === undefined ? "quiet" : "bad");
}

customElements.define("admin-deliveries", DeliveryScreen);
