// @ts-check
import { element, showDialog } from "../support/dom.js";
import { changeSettings, settings } from "../support/settings.js";
import { errorText, t } from "../support/text.js";

/** @typedef {import("./app.js").ChatApp} ChatApp */

/**
 * The settings of the page in this browser.
 *
 * @param {ChatApp} app
 */
export function showSettings(app) {
  const theme = choice("setting-theme", t("theme"), settings.theme, [
    [null, t("likeSystem")],
    ["light", t("light")],
    ["dark", t("dark")],
  ], (theme) => changeSettings({ theme }));
  const language = choice("setting-language", t("language"), settings.language, [
    [null, t("likeSystem")],
    ["en", "English"],
    ["zh", "简体中文"],
  ], (language) => {
    changeSettings({ language });
    // The texts are read when the page loads.
    location.reload();
  });
  const notifies = element("input", {
    type: "checkbox",
    checked: settings.notifies,
    change: async () => {
      const isWanted = notifies.checked && globalThis.Notification !== undefined;
      const isAllowed = isWanted && await Notification.requestPermission() === "granted";
      notifies.checked = isAllowed;
      changeSettings({ notifies: isAllowed });
      message.textContent = isWanted && !isAllowed ? t("notificationsRefused") : "";
    },
  });
  const message = element("p", { class: "error", role: "alert" });
  const signOut = () => app.signOut().catch((error) => (message.textContent = errorText(error)));
  const dialog = showDialog(
    t("settings"),
    ...theme,
    ...language,
    element("label", { class: "check" }, notifies, t("notifications")),
    message,
    element(
      "div",
      { class: "buttons" },
      !app.session.isEmbedded && element("button", { type: "button", class: "danger", click: signOut }, t("signOut")),
      element("button", { type: "button", class: "primary", click: () => dialog.close() }, t("close")),
    ),
  );
}

/**
 * @template {string} Value
 * @param {string} id
 * @param {string} label
 * @param {Value | null} current
 * @param {[Value | null, string][]} options
 * @param {(value: Value | null) => void} changed
 */
function choice(id, label, current, options, changed) {
  const select = element("select", {
    id,
    change: () => changed(options[select.selectedIndex]?.[0] ?? null),
  }, ...options.map(([value, text]) => element("option", { selected: value === current }, text)));
  return [element("label", { for: id }, label), select];
}
