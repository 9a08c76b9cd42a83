// @ts-check

// What the page shows besides the list. The page loads it after the first list, so that the list is shown sooner.

export { ConversationView } from "./conversation-view.js";
export { showNewConversation } from "./new-conversation.js";
export { searchPanel } from "./search-panel.js";
export { showSettings } from "./settings-dialog.js";
