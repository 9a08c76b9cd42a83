// @ts-check

// The modules that only a connection needs. Every tab loads them as soon as it has opened its store, and shows stored
// conversations without them. The modules that are loaded first import none of them.
export { apply } from "../store/log.js";
export { download } from "./downloads.js";
export { drive } from "./driver.js";
export { fetchPage, fetchProfiles, fetchThreads, members, pins, scheduledMessages, search } from "./queries.js";
