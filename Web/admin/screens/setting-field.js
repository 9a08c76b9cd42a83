// A setting as a field of a form, and the changes of a form. The server checks the values.
import { Field, input, select } from "../parts/field.js";
import { make } from "../parts/dom.js";

/**
 * @typedef {object} SettingDescription
 * @property {string} name
 * @property {string} title
 * @property {"text" | "optional" | "days" | "number" | "switch" | "choice" | "lines" | "json"} kind `days` is a number
 *   or a word. `number` and `optional`, a text, can be empty and are then `null`.
 * @property {string} [help]
 * @property {[string, string][]} [options]
 */

/** A setting with its value when the form was loaded. */
export class SettingField extends Field {
  /**
   * @param {SettingDescription} description
   * @param {import("../parts/field.js").Control} control
   * @param {unknown} loaded
   */
  constructor(description, control, loaded) {
    super(description.name, description.title, control, description.help);
    this.kind = description.kind;
    write(control, description.kind, loaded);
    this.loaded = this.value;
  }

  /** The value as the server takes it. A text that is no number stays a text, and the server explains what it needs. */
  get value() {
    const { control } = this;
    if (this.kind === "switch") return /** @type {HTMLInputElement} */ (control).checked;
    const text = control.value.trim();
    switch (this.kind) {
      case "number":
        return text === "" ? null : number(text);
      case "days":
        return number(text);
      case "optional":
        return text === "" ? null : text;
      case "lines":
        return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
      case "json":
        return json(text);
      default:
        return text;
    }
  }
}

/**
 * @param {SettingDescription} description
 * @param {unknown} value
 */
export function settingField(description, value) {
  const { kind, options = [] } = description;
  const control = kind === "choice"
    ? select(options)
    : kind === "lines" || kind === "json"
    ? make("textarea", { rows: 4, spellcheck: "false", autocomplete: "off" })
    : input(kind === "switch" ? { type: "checkbox" } : kind === "number" ? { inputmode: "numeric" } : {});
  return new SettingField(description, control, value);
}

/**
 * The settings that the operator changed.
 *
 * @param {SettingField[]} fields
 * @returns {Record<string, unknown>}
 */
export function changes(fields) {
  const changed = fields.filter((field) => JSON.stringify(field.value) !== JSON.stringify(field.loaded));
  return Object.fromEntries(changed.map((field) => [field.name, changedValue(field)]));
}

/**
 * @param {Record<string, unknown>} values
 * @param {string} name Such as `bannedWords.words`.
 * @returns {unknown}
 */
export function valueAt(values, name) {
  /** @type {unknown} */
  let value = values;
  for (const part of name.split(".")) value = /** @type {Record<string, unknown> | undefined} */ (value)?.[part];
  return value;
}

/**
 * Turns names with a full stop into nested objects.
 *
 * @param {Record<string, unknown>} changed
 */
export function nested(changed) {
  /** @type {Record<string, unknown>} */
  const result = {};
  for (const [name, value] of Object.entries(changed)) {
    const parts = name.split(".");
    const last = parts.pop() ?? name;
    let place = result;
    for (const part of parts) place = /** @type {Record<string, unknown>} */ (place[part] ??= {});
    place[last] = value;
  }
  return result;
}

/**
 * The value to send. The server keeps members of an object that a change leaves out, and `null` removes them.
 *
 * @param {SettingField} field
 */
function changedValue({ kind, value, loaded }) {
  if (kind !== "json" || typeof value !== "object" || value === null) return value;
  const removed = Object.keys(/** @type {object} */ (loaded)).filter((name) => !(name in value));
  return { ...value, ...Object.fromEntries(removed.map((name) => [name, null])) };
}

/**
 * @param {import("../parts/field.js").Control} control
 * @param {SettingDescription["kind"]} kind
 * @param {unknown} value
 */
function write(control, kind, value) {
  if (kind === "switch") /** @type {HTMLInputElement} */ (control).checked = value === true;
  else if (kind === "lines") control.value = Array.isArray(value) ? value.join("\n") : "";
  else if (kind === "json") control.value = JSON.stringify(value ?? {}, null, 2);
  else control.value = value === null || value === undefined ? "" : String(value);
}

/** @param {string} text */
const number = (text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

/** @param {string} text */
function json(text) {
  if (text === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
