// @ts-check
import { Message } from "../model/message.js";

/** @typedef {import("../model/message.js").ActionSummary} ActionSummary */
/** @typedef {import("../model/message.js").MessageAttributes} MessageAttributes */
/** @typedef {import("../store/outbox.js").MessageEdit} MessageEdit */
/** @typedef {import("../store/outbox.js").OutboxRequest} OutboxRequest */

/**
 * Returns a message with queued changes, which the server has not accepted yet.
 *
 * @param {Message} message
 * @param {readonly OutboxRequest[]} changes
 * @param {string} user
 * @returns {Message}
 */
export const withPendingChanges = (message, changes, user) =>
  changes.reduce((message, change) => withChange(message, change, user), message);

/**
 * @param {Message} message
 * @param {OutboxRequest} change
 * @param {string} user
 * @returns {Message}
 */
function withChange(message, change, user) {
  switch (change.type) {
    case "edit":
      if (change.message !== message.id || message.isDeleted) return message;
      return new Message({
        ...message,
        content: change.edit.content,
        attributes: editedAttributes(message.attributes, change.edit),
      });
    case "delete": {
      if (change.audience !== "everyone" || !change.messages.includes(message.id)) return message;
      const { traits } = message.attributes;
      return new Message({ ...message, content: null, actions: [], attributes: traits ? { traits } : {} });
    }
    case "addAction": {
      if (change.message !== message.id || message.isDeleted) return message;
      let { actions } = message;
      if (change.action === "vote" && !message.content?.poll?.allowsSeveralVotes) {
        for (const { type, value, senders } of actions) {
          if (type === "vote" && senders.includes(user)) actions = withoutAction(actions, type, value, user);
        }
      }
      return new Message({ ...message, actions: withAction(actions, change.action, change.value, user) });
    }
    case "removeAction": {
      if (change.message !== message.id) return message;
      // Everyone who may pin can remove the pin of another user.
      const pin = change.action === "pin" ? message.actions.find(({ type }) => type === "pin") : undefined;
      const sender = pin?.senders[0] ?? user;
      return new Message({ ...message, actions: withoutAction(message.actions, change.action, change.value, sender) });
    }
    default:
      return message;
  }
}

/**
 * Returns the attributes of a message after an edit.
 *
 * @param {MessageAttributes} attributes
 * @param {Omit<MessageEdit, "content">} changes
 * @returns {MessageAttributes}
 */
export function editedAttributes(attributes, changes) {
  const edited = { ...attributes };
  for (const name of /** @type {const} */ (["mentions", "metadata", "extra", "customType"])) {
    const value = changes[name];
    if (value === undefined) continue;
    if (value === null) delete edited[name];
    else Object.assign(edited, { [name]: value });
  }
  return edited;
}

/**
 * @param {readonly ActionSummary[]} actions
 * @param {string} type
 * @param {string} value
 * @param {string} user
 * @returns {ActionSummary[]}
 */
function withAction(actions, type, value, user) {
  const known = actions.find((action) => action.type === type && action.value === value);
  if (!known) return [...actions, { type, value, count: 1, senders: [user] }];
  if (known.senders.includes(user)) return [...actions];
  const changed = { ...known, count: known.count + 1, senders: [...known.senders, user] };
  return actions.map((action) => action === known ? changed : action);
}

/**
 * @param {readonly ActionSummary[]} actions
 * @param {string} type
 * @param {string} value
 * @param {string} user
 * @returns {ActionSummary[]}
 */
function withoutAction(actions, type, value, user) {
  return actions.map((action) =>
    action.type === type && action.value === value
      ? { ...action, count: action.count - 1, senders: action.senders.filter((sender) => sender !== user) }
      : action
  ).filter(({ count }) => count > 0);
}
