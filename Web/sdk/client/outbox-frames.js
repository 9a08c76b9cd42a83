// @ts-check
import { attributeMembers, submissionMembers } from "../wire/requests.js";

/** @typedef {import("../store/outbox.js").OutboxRequest} OutboxRequest */
/** @typedef {import("../wire/frames.js").FrameRequest} FrameRequest */

/**
 * Returns the frame of a queued request.
 *
 * @param {string} conversation
 * @param {OutboxRequest} request
 * @returns {FrameRequest}
 */
export function outboxFrame(conversation, request) {
  switch (request.type) {
    case "send":
      return { type: "send", conversation, message: submissionMembers(request.submission) };
    case "schedule": {
      const { submission, operation } = request;
      const sendAt = request.sendAt.toISOString();
      return { type: "schedule", conversation, message: { ...submissionMembers(submission), sendAt, operation } };
    }
    case "edit": {
      const { content, mentions, ...others } = request.edit;
      const edit = {
        type: content.type,
        content: content.json,
        ...others,
        mentions: mentions ? attributeMembers({ mentions }).mentions : mentions,
      };
      return { type: "edit", conversation, id: request.message, operation: request.operation, edit };
    }
    case "delete":
      return { type: "delete", conversation, ids: request.messages, for: request.audience };
    case "addAction":
    case "removeAction":
      return {
        type: request.type === "addAction" ? "action" : "removeAction",
        conversation,
        id: request.message,
        operation: request.operation,
        action: { type: request.action, value: request.value },
      };
    case "changeThread":
      return {
        type: "thread",
        conversation,
        thread: request.thread,
        followed: request.isFollowed ?? undefined,
        ...request.read,
      };
    case "putConversation":
      return {
        ...request.settings,
        type: "putConversation",
        conversation,
        operation: request.operation,
        exists: request.exists ?? undefined,
      };
    case "deleteConversation":
      return { type: "deleteConversation", conversation };
  }
}
