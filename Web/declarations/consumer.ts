// A TypeScript program that uses the declarations of the SDK. scripts/web-declarations.sh compiles it, and each
// expected error shows that a declaration has a type.
/// <reference path="scrollback.d.ts" />
import { ChatClient, ConversationID, Message, MessageContent, ScrollbackError, Timeline } from "scrollback";
import type { MessageFields } from "scrollback/model/message";
import { GapFill } from "scrollback/sync/gap-fill";
import { LogState } from "scrollback/sync/log-state";
import { Outbox } from "scrollback/sync/outbox";

declare const fields: MessageFields;

const message = new Message(fields);
export const seq: number = message.seq;
export const quote: string | undefined = message.content?.quote?.text;
// @ts-expect-error A message may have no text.
export const text: string = message.text;

export const group: string = ConversationID.group("swift");
// @ts-expect-error A name is a text.
ConversationID.group(1);

export const poll = MessageContent.poll({ question: "Where?", options: ["here", "there"] });
export const retryAfter: number | undefined = new ScrollbackError("overloaded", "Busy.").retryAfter;

const effects = new Outbox().connected(Date.now());
export const wakeAt: number | null = effects.wakeAt;
// @ts-expect-error The outbox can have nothing to wait for.
export const time: number = effects.wakeAt;

export const limit: number | undefined = new GapFill().inFlight?.limit;
// @ts-expect-error Directions are `older` and `newer`.
new GapFill().answered({ gap: [1, 2], anchor: 3, direction: "up", limit: 1 }, true);

export const head: number =
  LogState.adopting({ epoch: "7", view: 1, head: 1, firstSeq: 1, countedIndex: 1, rev: 0 }).head;

export async function chat(): Promise<string[]> {
  const client = await ChatClient.open({ server: "https://chat.example.org", user: "alice", token: "token" });
  const { totalUnread, isLoaded } = client.recents().value;
  const unread: number = isLoaded ? totalUnread : 0;
  const conversation = client.conversation("group:swift");
  const timeline: Timeline = conversation.timeline({ at: "firstUnread", window: 50 });
  const shown: string[] = [String(unread)];
  const end: () => void = timeline.subscribe(({ items }) => {
    for (const item of items) if (item.type === "message") shown.push(item.message.text ?? "");
  });
  const handle = await conversation.send("hello", { mentions: { everyone: false, users: ["bob"] } });
  for await (const progress of handle) {
    if (progress.state === "failed") shown.push(progress.error.code);
    // @ts-expect-error Only a failed message has an error.
    else progress.error;
  }
  // @ts-expect-error A message has content.
  await conversation.send(1);
  // @ts-expect-error A point is a text, a date or an object.
  await conversation.history({ before: 12 });
  end();
  await conversation.schedule("later", new Date());
  // @ts-expect-error A time is a date.
  await conversation.schedule("later", 0);
  for (const { sendAt } of await client.scheduledMessages()) shown.push(sendAt.toISOString());
  const serviceWorker = await navigator.serviceWorker.register("/worker.js");
  await client.push.register({ serviceWorker, applicationServerKey: "BA1Hxzyi1RUM1b5" });
  const { state } = client.push;
  if (state.value.state === "refused") shown.push(state.value.error.code);
  client.push.onClick((click) => shown.push(click.conversation));
  // @ts-expect-error Web Push needs the server's key.
  await client.push.register({ serviceWorker });
  return shown;
}
