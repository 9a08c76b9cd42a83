// Banning a user from the server or from a conversation.
import { segment } from "../api.js";
import { confirm } from "../parts/confirm.js";
import { Field, input, select } from "../parts/field.js";

/** @typedef {import("../parts/screen.js").Screen} Screen */

/** @type {[seconds: string, label: string][]} */
const lifetimes = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
  ["2592000", "30 days"],
  ["", "Without an end"],
];

/**
 * Bans a user if the operator confirms it.
 *
 * @param {Screen} screen
 * @param {string} user
 * @param {string | null} conversation `null` for the whole server.
 * @param {() => unknown} then
 */
export async function confirmBan(screen, user, conversation, then) {
  const lifetime = new Field("expiresIn", "Duration", select(lifetimes, "604800"));
  const reason = new Field("reason", "Reason", input({ maxlength: 500 }), "Optional. The user sees it.");
  const isConfirmed = await confirm({
    title: `Ban ${user} from ${conversation ?? "the server"}?`,
    text: conversation === null
      ? `The server closes the connections of ${user} and refuses their tokens until the ban ends. Their data stays.`
      : `${user} is removed from the conversation and can't return until the ban ends.`,
    action: "Ban",
    fields: [lifetime, reason],
  });
  if (!isConfirmed) return;
  const place = conversation === null ? "/v1" : `/v1/conversations/${segment(conversation)}`;
  const body = {
    ...(lifetime.control.value === "" ? {} : { expiresIn: Number(lifetime.control.value) }),
    ...(reason.control.value === "" ? {} : { reason: reason.control.value }),
  };
  await screen.run(`${user} was not banned.`, async () => {
    await screen.api.change("PUT", `${place}/bans/${segment(user)}`, { body });
    await then();
    screen.say(`${user} is banned from ${conversation ?? "the server"}.`);
  });
}

/**
 * Lifts a ban if the operator confirms it.
 *
 * @param {Screen} screen
 * @param {string} user
 * @param {string | null} conversation
 * @param {() => unknown} then
 */
export async function confirmUnban(screen, user, conversation, then) {
  const isConfirmed = await confirm({
    title: `Lift the ban of ${user} from ${conversation ?? "the server"}?`,
    text: conversation === null
      ? `${user} can sign in again.`
      : `${user} can be added to the conversation, or enter it, again.`,
    action: "Lift the ban",
  });
  if (!isConfirmed) return;
  const place = conversation === null ? "/v1" : `/v1/conversations/${segment(conversation)}`;
  await screen.run(`The ban of ${user} was not lifted.`, async () => {
    await screen.api.change("DELETE", `${place}/bans/${segment(user)}`);
    await then();
    screen.say(`The ban of ${user} is lifted.`);
  });
}
