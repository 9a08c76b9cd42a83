// Form fields with a label, an explanation, and the server's error at the field.
import { append, make } from "./dom.js";

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

let number = 0;

/** A field of a form. The server names it in an error by `name`. */
export class Field {
  /**
   * @param {string} name The name of the server's parameter.
   * @param {string} label
   * @param {Control} control
   * @param {string} [help]
   */
  constructor(name, label, control, help) {
    this.name = name;
    this.control = control;
    const id = `field-${++number}`;
    control.id = id;
    this.error = make("p", { class: "field-error", id: `${id}-error`, hidden: true });
    const isSwitch = control instanceof HTMLInputElement && control.type === "checkbox";
    const title = make("label", { for: id }, label);
    const explanation = help ? make("p", { class: "help", id: `${id}-help` }, help) : null;
    control.setAttribute("aria-describedby", `${help ? `${id}-help ` : ""}${id}-error`);
    this.element = make("div", { class: isSwitch ? "field switch" : "field" });
    append(this.element, ...(isSwitch ? [control, title] : [title, control]), explanation, this.error);
  }

  /** @param {string | null} text */
  showError(text) {
    this.error.textContent = text ?? "";
    this.error.hidden = text === null;
    if (text === null) this.control.removeAttribute("aria-invalid");
    else this.control.setAttribute("aria-invalid", "true");
  }
}

/** @param {Record<string, unknown>} [attributes] */
export const input = (attributes = {}) =>
  make("input", { type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", ...attributes });

/**
 * @param {[value: string, label: string][]} options
 * @param {string} [selected]
 * @param {Record<string, unknown>} [attributes]
 */
export function select(options, selected, attributes = {}) {
  const element = make("select", attributes);
  for (const [value, label] of options) element.append(make("option", { value }, label));
  if (selected !== undefined) element.value = selected;
  return element;
}

/**
 * Shows an error at the field that it names, and moves the focus there.
 *
 * @param {Field[]} fields
 * @param {string | undefined} parameter Such as `webhooks.before.url`.
 * @param {string} text
 * @returns {boolean} Whether there is such a field.
 */
export function showFieldError(fields, parameter, text) {
  const field = parameter === undefined
    ? undefined
    : fields.find(({ name }) =>
      parameter === name || parameter.startsWith(`${name}.`) || parameter.startsWith(`${name}[`)
    );
  if (!field) return false;
  field.showError(text);
  field.control.focus();
  return true;
}
