// @ts-check
import { sessionOf } from "../session.js";
import { element } from "../support/dom.js";
import { t } from "../support/text.js";

/**
 * Explains how to sign in, and accepts a token.
 *
 * @param {string | null} error Why the last attempt failed.
 * @param {(session: import("../session.js").Session) => void} signedIn
 */
export function showSignIn(error, signedIn) {
  const message = element("p", { role: "alert", class: "error" }, error);
  const field = element("input", { type: "password", name: "token", autocomplete: "off", required: true, id: "token" });
  const form = element(
    "form",
    {
      submit: (event) => {
        event.preventDefault();
        const session = sessionOf(field.value.trim());
        if (session) signedIn(session);
        else message.textContent = t("signInInvalid");
      },
    },
    element("label", { for: "token" }, t("signInToken")),
    field,
    element("button", { class: "primary" }, t("signIn")),
  );
  document.body.replaceChildren(element(
    "main",
    { class: "sign-in" },
    element("h1", {}, "Scrollback"),
    element("p", {}, t("signInApp")),
    element("p", {}, t("signInOperator")),
    element("pre", {}, element("code", {}, `scrollback token alice\n${location.origin}${location.pathname}#token=…`)),
    form,
    message,
  ));
}
