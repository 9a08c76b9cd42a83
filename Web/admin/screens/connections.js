// The open connections of all users or of one.
import { segment } from "../api.js";
import { confirm } from "../parts/confirm.js";

/** @typedef {import("../api.js").AdminAPI} AdminAPI */
/** @typedef {import("../parts/screen.js").Screen} Screen */
/** @typedef {import("../types.js").ConnectionEntry} ConnectionEntry */

/**
 * @param {AdminAPI} api
 * @param {{ user?: string, cursor?: string | undefined }} query
 * @param {AbortSignal} signal
 * @returns {Promise<{ rows: ConnectionEntry[], cursor?: string }>}
 */
export async function listConnections(api, query, signal) {
  const page = /** @type {{ connections: ConnectionEntry[], cursor?: string }} */ (
    await api.get("/v1/admin/connections", { query, signal })
  );
  return { rows: page.connections, ...(page.cursor === undefined ? {} : { cursor: page.cursor }) };
}

/**
 * Closes the connection of a device if the operator confirms it.
 *
 * @param {Screen} screen
 * @param {ConnectionEntry} connection
 * @param {() => unknown} then
 */
export async function confirmDisconnect(screen, { user, device }, then) {
  const isConfirmed = await confirm({
    title: `Disconnect ${device} of ${user}?`,
    text: "The server closes the connection, and the device connects again by itself.",
    action: "Disconnect",
  });
  if (!isConfirmed) return;
  await screen.run("The device was not disconnected.", async () => {
    await screen.api.change("DELETE", `/v1/admin/connections/${segment(user)}/${segment(device)}`);
    await then();
    screen.say(`${device} of ${user} is disconnected.`);
  });
}
