// @ts-check

/**
 * What the user chose for this page, in this browser.
 *
 * @typedef {object} Settings
 * @property {"light" | "dark" | null} theme `null` for the theme of the system.
 * @property {"en" | "zh" | null} language `null` for the language of the browser.
 * @property {boolean} notifies Whether new messages show a notification while the page is in the background.
 */

const key = "scrollback-chat";

/** @type {Settings} */
export const settings = { theme: null, language: null, notifies: false, ...stored() };

/** @returns {Partial<Settings>} */
function stored() {
  try {
    const { theme, language, notifies } = JSON.parse(localStorage.getItem(key) ?? "{}");
    return {
      theme: theme === "light" || theme === "dark" ? theme : null,
      language: language === "en" || language === "zh" ? language : null,
      notifies: notifies === true,
    };
  } catch {
    return {};
  }
}

/** @param {Partial<Settings>} changes */
export function changeSettings(changes) {
  Object.assign(settings, changes);
  try {
    localStorage.setItem(key, JSON.stringify(settings));
  } catch {
    // Without storage, the settings are valid until the page is closed.
  }
  applyTheme();
}

export function applyTheme() {
  if (settings.theme) document.documentElement.dataset["theme"] = settings.theme;
  else delete document.documentElement.dataset["theme"];
}
