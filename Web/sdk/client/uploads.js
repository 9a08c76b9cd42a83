// @ts-check
import { asScrollbackError, ScrollbackError } from "../model/errors.js";
import { fileOf, saveUploadProgress } from "../store/outbox.js";
import { address, errorOf } from "./downloads.js";

/** @typedef {import("../store/outbox.js").QueuedFile} QueuedFile */
/** @typedef {import("./core.js").Core} Core */

/** The size of a chunk in bytes, which is the most that a lost connection can cost. */
const chunkSize = 4 * 1024 * 1024;

/** The maximum number of attempts for a file whose upload the server has deleted. */
const maximumAttempts = 3;

/** The time in milliseconds without any progress after which a request counts as lost. */
const stallTimeout = 60_000;

/**
 * The part of an upload that the server has. It can have all bytes of an upload that is not complete.
 *
 * @typedef {{offset: number, isComplete: boolean}} UploadProgress
 */

/**
 * Uploads the files of queued messages, in the tab that leads.
 *
 * It uses the resumable uploads of the IETF draft, interop version 6. The address of an upload is stored before the
 * first byte is sent, so that the upload resumes after a crash at the offset that the server has.
 */
export class Uploads {
  #core;
  /** The latest run of each message. @type {Map<string, {abort: AbortController, end: Promise<void>}>} */
  #runs = new Map();

  /** @param {Core} core */
  constructor(core) {
    this.#core = core;
  }

  /**
   * Uploads the file of a message, and posts the input `uploaded` at the end.
   *
   * @param {string} message
   * @param {string} conversation
   */
  start(message, conversation) {
    const before = this.#runs.get(message);
    before?.abort.abort();
    const abort = new AbortController();
    const end = this.#run(message, conversation, abort.signal, before?.end);
    this.#runs.set(message, { abort, end });
  }

  /**
   * Stops the upload of a message, without a result.
   *
   * @param {string} message
   */
  stop(message) {
    this.#runs.get(message)?.abort.abort();
    this.#runs.delete(message);
  }

  /** Stops all uploads. They resume when a tab leads again. */
  end() {
    for (const message of [...this.#runs.keys()]) this.stop(message);
  }

  /**
   * Deletes an abandoned upload from the server, which would otherwise keep it for a day. Errors are ignored.
   *
   * @param {string} upload
   */
  async abandon(upload) {
    try {
      await this.#request("DELETE", upload, {}, { token: await this.#core.token() });
    } catch (error) {
      console.debug("Scrollback: an abandoned upload stays on the server for a day.", error);
    }
  }

  /**
   * @param {string} message
   * @param {string} conversation
   * @param {AbortSignal} signal
   * @param {Promise<void>} [before]
   */
  async #run(message, conversation, signal, before) {
    await before;
    /** @type {ScrollbackError | null} */
    let error = null;
    try {
      await this.#upload(message, conversation, signal);
    } catch (cause) {
      error = asScrollbackError(cause, "unreachable", "The app's token provider failed.");
    }
    if (!signal.aborted) this.#core.mailbox.post({ type: "uploaded", id: message, error });
  }

  /**
   * @param {string} message
   * @param {string} conversation
   * @param {AbortSignal} signal
   * @throws {ScrollbackError} The error of the upload. A rejected token is a temporary error, because the app's next
   *   token may be valid.
   */
  async #upload(message, conversation, signal) {
    const token = await this.#core.token();
    for (let attempts = 1;; attempts += 1) {
      const file = await this.#core.store.read((transaction) => fileOf(transaction, message));
      if (!file) throw new ScrollbackError("local-storage", "The stored copy of the file is missing.");
      if (file.isDone) return;
      try {
        await this.#resume(file, conversation, token, signal);
        return await this.#save(message, { isDone: true });
      } catch (cause) {
        if (!(cause instanceof ScrollbackError)) throw cause;
        if (cause.status === 401) throw ScrollbackError.from({ ...cause.toJSON(), temporary: true });
        const isLost = cause.code === "unknown-upload" || cause.code === "unknown-media";
        if (!isLost || attempts === maximumAttempts) throw cause;
        await this.#save(message, { upload: null });
      }
    }
  }

  /**
   * @param {string} message
   * @param {Partial<Pick<QueuedFile, "upload" | "isDone">>} progress
   */
  async #save(message, progress) {
    await this.#core.store.write((transaction) => saveUploadProgress(transaction, message, progress));
  }

  /**
   * Begins or resumes an upload, and completes it.
   *
   * @param {QueuedFile} file
   * @param {string} conversation
   * @param {string} token
   * @param {AbortSignal} signal
   * @throws {ScrollbackError} `unknown-upload` if the server has deleted the upload, so that it must begin again.
   */
  async #resume(file, conversation, token, signal) {
    const { message, blob } = file;
    const size = Math.max(blob.size, 1);
    const options = { token, signal };
    /** @type {UploadProgress} */
    let progress = { offset: 0, isComplete: false };
    let { upload } = file;
    if (upload !== null) progress = await this.#progress(upload, options);
    else {
      upload = await this.#begin(file, conversation, options);
      // The server has the file from an attempt whose answer was lost.
      if (upload === null) return;
      await this.#save(message, { upload });
    }
    while (!progress.isComplete) {
      const { offset } = progress;
      /** @param {number} sent */
      const report = (sent) => this.#core.setUploadProgress(message, (offset + sent) / size, conversation);
      report(0);
      const chunk = await bytesOf(blob.slice(offset, offset + chunkSize));
      const end = offset + chunk.byteLength;
      const isComplete = end === blob.size;
      const headers = {
        "Content-Type": "application/partial-upload",
        "Upload-Complete": isComplete ? "?1" : "?0",
        "Upload-Offset": String(offset),
      };
      try {
        await this.#request("PATCH", upload, headers, { ...options, body: chunk, report });
        progress = { offset: end, isComplete };
      } catch (error) {
        if (!(error instanceof ScrollbackError) || error.code !== "conflict") throw error;
        // An answer was lost: continue from the server's offset.
        const now = await this.#progress(upload, options);
        if (now.offset === progress.offset && now.isComplete === progress.isComplete) throw error;
        progress = now;
      }
    }
  }

  /**
   * Creates an upload without data, so that its address is known before the first byte is sent.
   *
   * @param {QueuedFile} file
   * @param {string} conversation
   * @param {RequestOptions} options
   * @returns {Promise<string | null>} The path of the upload; `null` if the server has the file already.
   */
  async #begin({ media, type, name, blob }, conversation, options) {
    const query = new URLSearchParams({ conversation, type, id: media, ...name === null ? {} : { name } });
    const headers = { "Upload-Complete": "?0", "Upload-Length": String(blob.size) };
    const answer = await this.#request("POST", `v1/media?${query}`, headers, options);
    if (answer.status === 200) return null;
    // A reverse proxy may have another path before v1 than the server knows.
    const [path] = answer.getResponseHeader("Location")?.match(/v1\/uploads\/[^/?#]+$/) ?? [];
    if (path === undefined) {
      throw new ScrollbackError("internal-error", "The server created an upload without returning its location.");
    }
    return path;
  }

  /**
   * @param {string} upload
   * @param {RequestOptions} options
   * @returns {Promise<UploadProgress>}
   */
  async #progress(upload, options) {
    const answer = await this.#request("HEAD", upload, {}, options);
    const offset = Number(answer.getResponseHeader("Upload-Offset") ?? NaN);
    if (!Number.isSafeInteger(offset) || offset < 0) {
      throw new ScrollbackError("internal-error", "The server did not return the offset of the upload.");
    }
    return { offset, isComplete: answer.getResponseHeader("Upload-Complete") === "?1" };
  }

  /**
   * @typedef {object} RequestOptions
   * @property {string} token
   * @property {AbortSignal} [signal]
   * @property {ArrayBuffer} [body]
   * @property {(sent: number) => void} [report] Called with the number of transmitted bytes.
   */

  /**
   * Sends a request. `fetch` reports no progress of a request's body, so this uses `XMLHttpRequest`.
   *
   * @param {string} method
   * @param {string} path
   * @param {Record<string, string>} headers
   * @param {RequestOptions} options
   * @returns {Promise<XMLHttpRequest>}
   * @throws {ScrollbackError} The server's error, or `unreachable`.
   */
  #request(method, path, headers, { token, signal, body, report = () => {} }) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const request = new XMLHttpRequest();
      const lost = () => reject(new ScrollbackError("unreachable", "The upload was interrupted."));
      const abort = () => request.abort();
      /** @type {ReturnType<typeof setTimeout> | undefined} */
      let timer;
      const expectProgress = () => {
        clearTimeout(timer);
        timer = setTimeout(abort, stallTimeout);
      };
      request.open(method, address(this.#core, path));
      request.setRequestHeader("Authorization", `Bearer ${token}`);
      request.setRequestHeader("Upload-Draft-Interop-Version", "6");
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded }) => {
        expectProgress();
        report(loaded);
      };
      request.onload = () => {
        if (request.status >= 200 && request.status < 300) resolve(request);
        else reject(errorOf(request.status, request.responseText, "unknown-upload"));
      };
      request.onerror = lost;
      request.onabort = lost;
      request.onloadend = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      };
      signal?.addEventListener("abort", abort);
      expectProgress();
      request.send(body ?? null);
    });
  }
}

/**
 * Reads a part of a stored file.
 *
 * @param {Blob} part
 * @throws {ScrollbackError} `local-storage` if the browser no longer has the bytes.
 */
async function bytesOf(part) {
  try {
    return await part.arrayBuffer();
  } catch (cause) {
    throw new ScrollbackError("local-storage", "The stored copy of the file can't be read.", { cause });
  }
}
