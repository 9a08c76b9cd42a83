// @ts-check
import { element, icon, showDialog } from "../support/dom.js";
import { errorText, plain, t } from "../support/text.js";

/** @typedef {import("../../sdk/scrollback.js").Media} Media */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/** The maximum number of files that the page keeps in memory. */
const maximumFiles = 60;

/** The addresses of downloaded files, the most recently used one last. @type {Map<string, Promise<string>>} */
const addresses = new Map();

/**
 * Downloads a file once, and returns its address in this page.
 *
 * @param {ChatApp} app
 * @param {string} id
 * @param {boolean} prefersThumbnail
 * @returns {Promise<string>}
 */
function addressOf(app, id, prefersThumbnail) {
  const key = `${id} ${prefersThumbnail}`;
  const known = addresses.get(key) ??
    app.client.download(id, { prefersThumbnail }).then((blob) => URL.createObjectURL(blob));
  addresses.delete(key);
  addresses.set(key, known);
  known.catch(() => addresses.delete(key));
  for (const [oldest, address] of addresses) {
    if (addresses.size <= maximumFiles) break;
    addresses.delete(oldest);
    address.then((url) => URL.revokeObjectURL(url), () => {});
  }
  return known;
}

/** @type {WeakMap<Element, () => void>} */
const loaders = new WeakMap();

/** Loads pictures when they are nearly visible. */
const nearby = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    nearby.unobserve(target);
    loaders.get(target)?.();
  }
}, { rootMargin: "400px" });

/**
 * A picture, which opens in full size.
 *
 * @param {ChatApp} app
 * @param {Media} media
 */
export function picture(app, media) {
  const id = media.media ?? "";
  const name = plain(media.name ?? t("picture"));
  const image = element("img", { alt: name, class: "picture" });
  if (media.width && media.height) {
    image.width = media.width;
    image.height = media.height;
  }
  const button = element(
    "button",
    { type: "button", class: "picture-button", click: () => openPicture(app, id, name) },
    image,
  );
  const load = async () => {
    try {
      image.src = await addressOf(app, id, true);
    } catch (error) {
      button.title = errorText(error);
      button.classList.add("is-missing");
    }
  };
  loaders.set(button, load);
  nearby.observe(button);
  return button;
}

/**
 * @param {ChatApp} app
 * @param {string} id
 * @param {string} name
 */
async function openPicture(app, id, name) {
  try {
    const image = element("img", { alt: name, class: "full-picture", src: await addressOf(app, id, false) });
    const dialog = showDialog(name, image, element("form", { method: "dialog" }, element("button", {}, t("close"))));
    dialog.classList.add("viewer");
  } catch (error) {
    app.showError(errorText(error));
  }
}

/**
 * A voice message or a video, which is downloaded when the user plays it.
 *
 * @param {ChatApp} app
 * @param {"voice" | "video"} type
 * @param {Media} media
 */
export function player(app, type, media) {
  const holder = element("div", { class: "player" });
  const play = async () => {
    try {
      const address = await addressOf(app, media.media ?? "", false);
      const controls = element(type === "voice" ? "audio" : "video", { controls: true, src: address });
      holder.replaceChildren(controls);
      await controls.play();
    } catch (error) {
      app.showError(errorText(error));
    }
  };
  const label = t(type === "voice" ? "voiceMessage" : "video");
  holder.append(element("button", { type: "button", click: play }, `▶ ${label}`));
  return holder;
}

/**
 * A button that downloads a file.
 *
 * @param {ChatApp} app
 * @param {Media} media
 * @param {string} size
 */
export function fileButton(app, media, size) {
  const name = plain(media.name ?? t("file"));
  const save = async () => {
    try {
      const href = await addressOf(app, media.media ?? "", false);
      const link = element("a", { href, download: name });
      document.body.append(link);
      link.click();
      link.remove();
    } catch (error) {
      app.showError(errorText(error));
    }
  };
  return element(
    "button",
    { type: "button", class: "file", title: t("download"), click: save },
    icon("attach"),
    element("bdi", {}, name),
    element("span", { class: "subtitle" }, size),
  );
}
