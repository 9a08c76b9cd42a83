// The webhooks for events, with the state of their deliveries.
import { APIError } from "../api.js";
import { count } from "../format.js";
import { badge, bdi, link } from "../parts/dom.js";
import { PagedTable } from "../parts/paged-table.js";
import { listDeliveries } from "./deliveries.js";
import { valueAt } from "./setting-field.js";

/** @typedef {import("../parts/screen.js").Screen} Screen */
/** @typedef {import("../types.js").Settings} Settings */
/** @typedef {import("../types.js").Delivery} Delivery */
/** @typedef {{ url: string, events: string[] }} EventWebhook */
/** @typedef {EventWebhook & { name: string, pending: Delivery[] }} Row */

/** How many pending events the table counts. */
const most = 50;

/**
 * A table of the webhooks for events.
 *
 * @param {Screen} screen
 * @param {() => Settings} settings
 * @returns {PagedTable<Row>}
 */
export const eventWebhookTable = (screen, settings) =>
  new PagedTable(screen, {
    caption: "Webhooks for events",
    empty: "No webhook for events is set up.",
    columns: [
      ["Webhook", (row) => link(["webhooks", row.name], bdi(row.name))],
      ["Address", (row) => bdi(row.url)],
      ["Events", (row) => row.events.join(", ")],
      ["Pending events", (row) => (row.pending.length < most ? count(row.pending.length) : `${most} or more`)],
      ["State", (row) => state(row.pending)],
      ["Last error", (row) => isolated(failure(row.pending))],
    ],
    load: async (_, signal) => {
      const rows = eventWebhooks(settings()).map(async ([name, webhook]) => {
        return { name, ...webhook, pending: await pending(screen, name, signal) };
      });
      return { rows: await Promise.all(rows) };
    },
  });

/**
 * @param {Settings} settings
 * @returns {[name: string, webhook: EventWebhook][]}
 */
function eventWebhooks(settings) {
  const after = /** @type {EventWebhook | null | undefined} */ (valueAt(settings, "webhooks.after"));
  const others = /** @type {Record<string, EventWebhook> | null | undefined} */ (
    valueAt(settings, "webhooks.subscriptions")
  );
  return [
    ...(after ? [/** @type {[string, EventWebhook]} */ (["after", after])] : []),
    ...Object.entries(others ?? {}),
  ];
}

/**
 * The newest pending events of a webhook.
 *
 * @param {Screen} screen
 * @param {string} name
 * @param {AbortSignal} signal
 */
async function pending(screen, name, signal) {
  try {
    const query = { state: "pending", limit: most };
    return (await listDeliveries(screen.api, name, { query, signal })).deliveries;
  } catch (error) {
    // Another node may answer, which does not know a new webhook yet.
    if (error instanceof APIError && error.status === 422) return [];
    throw error;
  }
}

/** @param {Delivery[]} deliveries */
function state(deliveries) {
  if (failure(deliveries) !== undefined) return badge("failing", "bad");
  if (deliveries.length === 0) return badge("up to date", "good");
  return deliveries.length < most ? badge("sending", "quiet") : badge("behind", "bad");
}

/**
 * The error of the newest event whose delivery was attempted.
 *
 * @param {Delivery[]} deliveries
 */
const failure = (deliveries) => deliveries.find(({ error }) => error !== undefined)?.error;

/** @param {string | undefined} text */
const isolated = (text) => text !== undefined && bdi(text);
