// @ts-check

/**
 * The browser SDK of Scrollback: an offline-first chat client. `Documentation/web.md` introduces it.
 *
 * @module
 */
export { ChatClient } from "./client/chat-client.js";
export { Conversation } from "./client/conversation.js";
export { Observable } from "./client/observable.js";
export { Push } from "./client/push.js";
export { SendHandle } from "./client/send-handle.js";
export { Threads } from "./client/threads.js";
export { Timeline } from "./client/timeline.js";
export { ConversationID } from "./model/conversation-id.js";
export { ScrollbackError } from "./model/errors.js";
export { MessageContent } from "./model/message-content.js";
export { Message } from "./model/message.js";

/** @typedef {import("./client/core.js").ClientEvent} ClientEvent */
/** @typedef {import("./client/conversation.js").ScheduledMessage} ScheduledMessage */
/** @typedef {import("./client/push.js").PushClick} PushClick */
/** @typedef {import("./client/push.js").PushState} PushState */
/** @typedef {import("./client/timeline.js").TimelineItem} TimelineItem */
/** @typedef {import("./client/threads.js").ThreadsView} ThreadsView */
/** @typedef {import("./client/timeline.js").TimelineView} TimelineView */
/** @typedef {import("./model/message-content.js").LinkPreview} LinkPreview */
/** @typedef {import("./model/message-content.js").Media} Media */
/** @typedef {import("./model/message.js").ActionSummary} ActionSummary */
/** @typedef {import("./store/recents.js").RecentConversation} RecentConversation */
/** @typedef {import("./wire/requests.js").HistoryPoint} HistoryPoint */
/** @typedef {import("./wire/requests.js").MessageThread} MessageThread */
