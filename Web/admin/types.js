// The answers of the server that the page reads, as /openapi.json describes them.

/** @typedef {{ user: string, name?: string, avatar?: string, invitationOnly?: boolean }} Profile */
/** @typedef {{ user: string, by: string, at: string, until?: string, reason?: string }} Ban */
/** @typedef {"active" | "deactivated" | "erasing" | "erased"} UserState */
/** @typedef {{ user: string, name?: string, state: UserState, ban?: Ban }} UserEntry */
/**
 * @typedef {{ user: string, device: string, since: string, lastHeard: string, active: boolean,
 *   subscriptions: number, queuedBytes: number }} ConnectionEntry
 */
/**
 * @typedef {{ conversation: string, name?: string, head: number, createdAt: string, lastActivity?: string,
 *   frozen?: boolean, private?: boolean, role?: Role, standing?: string }} ConversationEntry
 */
/** @typedef {"member" | "moderator" | "owner"} Role */
/** @typedef {{ user: string, role: Role, mutedUntil?: string }} Member */
/** @typedef {Record<string, unknown>} Settings */
/** @typedef {{ conversation: string, head: number, firstSeq: number, name?: string, settings?: Settings }} Head */
/**
 * @typedef {{ id: string, seq: number, sender: string, sentAt: string, type: string, content?: unknown,
 *   deleted?: boolean, editedAt?: string }} Message
 */
/**
 * @typedef {{ number: number, state: "open" | "closed", conversation: string, message: Message, reporter: string,
 *   reason: string, text?: string, at: string, note?: string, closedBy?: string, closedAt?: string }} Report
 */
/**
 * @typedef {{ id: number, state: "running" | "waiting" | "done", user: string,
 *   done: { conversations: number, messages: number, files: number }, error?: string }} Job
 */
/** @typedef {{ device: string, service: string, outcome: string, reason?: string }} PushResult */
/**
 * @typedef {{ id: string, name: string, address: string, version: string, connections: number, isLeader: boolean,
 *   isDraining: boolean, startedAt: string, lagSeconds: number }} NodeEntry
 */
/**
 * The first node is the one that answers.
 *
 * @typedef {{ nodes: NodeEntry[], generation: string, busIsConnected: boolean }} Cluster
 */
/** @typedef {{ name: string, startedAt: string, copiedBytes: number, totalBytes?: number }} BackupProgress */
/** @typedef {{ name: string, createdAt: string, bytes: number, conversations: number, messages: number }} Backup */
/** @typedef {{ name: string, failedAt: string, error: string }} BackupFailure */
/**
 * The backups are the newest ones, newest first.
 *
 * @typedef {{ running?: BackupProgress, failure?: BackupFailure, backups: Backup[],
 *   includesFiles: boolean }} BackupList
 */
/**
 * @typedef {{ number: number, delivery: string, replayOf?: string, event?: string, conversation?: string,
 *   seq?: number, state: "pending" | "delivered", attempts: number, attemptedAt?: string, error?: string }} Delivery
 */
/**
 * @typedef {{ number: number, at: string, actor: string, key?: string, tokenIssuedAt?: string, action: string,
 *   user?: string, conversation?: string, detail?: string }} Act
 */

export {};
