// @ts-check
import { intersection } from "../model/seq-range-set.js";

/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("../store/history.js").LocalPosition} LocalPosition */
/** @typedef {import("../sync/log-state.js").LogState} LogState */
/** @typedef {import("../wire/requests.js").HistoryPoint} HistoryPoint */

/**
 * The part of a log that a timeline shows.
 *
 * - `seeking`: a point whose position is not known yet; until then the window shows the newest messages
 * - `newest`: the newest messages, following new ones
 * - `range`: a range of sequence numbers of one log
 *
 * @typedef {{type: "seeking", point: HistoryPoint} | {type: "newest", count: number}
 *   | {type: "range", range: SeqRange, epoch: string}} TimelineWindow
 */

/**
 * @param {HistoryPoint | null | undefined} point The newest end if left out, as in a query for history.
 * @param {number} count
 * @returns {TimelineWindow}
 */
export const windowAt = (point, count) =>
  !point || point === "latest" ? { type: "newest", count } : { type: "seeking", point };

/**
 * Returns a window with the same number of sequence numbers on both sides of a position.
 *
 * @param {LocalPosition} place
 * @param {number} count
 * @param {LogState} log
 * @returns {TimelineWindow}
 */
export function windowAround(place, count, log) {
  if (place.newestOlder >= log.head) return { type: "newest", count };
  const half = Math.floor(count / 2);
  const lower = log.lowerEnd(half, place.newestOlder);
  const upper = Math.max(lower, log.upperEnd(count - half, place.newestOlder + 1));
  // A window that contains the newest message follows new messages.
  return upper === log.head ? { type: "newest", count } : { type: "range", range: [lower, upper], epoch: log.epoch };
}

/**
 * Returns a window extended by `count` sequence numbers on one side, with at most `maximum` in total. Sequence numbers
 * beyond `maximum` are removed from the other side.
 *
 * @param {TimelineWindow} window If it follows new messages, those that were stored since it was shown belong to it.
 * @param {SeqRange} shown
 * @param {"older" | "newer"} direction
 * @param {number} count
 * @param {number} maximum
 * @param {LogState} log
 * @returns {TimelineWindow}
 */
export function extendedWindow(window, shown, direction, count, maximum, log) {
  let lower = shown[0];
  let upper = Math.min(shown[1], log.head);
  if (direction === "older") {
    lower = log.lowerEnd(count, lower - 1);
    upper = Math.min(window.type === "range" ? upper : log.head, log.upperEnd(maximum, lower));
  } else {
    upper = log.upperEnd(count, upper + 1);
    lower = Math.max(lower, log.lowerEnd(maximum, upper));
  }
  if (lower > upper) return { type: "newest", count };
  if (upper < log.head) return { type: "range", range: [lower, upper], epoch: log.epoch };
  // If the log is shorter than the window, leave space for new messages.
  const visible = upper - lower + 1 - log.deletedRanges.clippedTo([lower, upper]).count;
  return { type: "newest", count: Math.max(Math.floor(maximum / 2), visible) };
}

/**
 * The assumed position of the user if the visible range is unknown.
 *
 * @param {TimelineWindow} window
 */
export const focusOf = (window) => window.type === "range" ? Math.floor((window.range[0] + window.range[1]) / 2) : null;

/**
 * Returns the sequence numbers to show; `null` if there are none, or if the window's log no longer exists.
 *
 * @param {TimelineWindow} window
 * @param {LogState} log
 * @param {SeqRange | null} visible The visible range, which new messages must not push out of the window.
 * @param {number} size The requested number of messages; the window holds up to twice as many.
 * @returns {SeqRange | null}
 */
export function shownRange(window, log, visible, size) {
  if (!log.range) return null;
  if (window.type === "seeking") return [log.lowerEnd(size, log.head), log.head];
  if (window.type === "range") return window.epoch === log.epoch ? intersection(window.range, log.range) : null;
  let lower = log.lowerEnd(window.count, log.head);
  if (visible && visible[0] >= log.range[0] && visible[0] <= log.range[1]) {
    lower = Math.min(lower, log.lowerEnd(Math.floor(size / 4), visible[0] - 1));
  }
  return [lower, log.upperEnd(size * 2, lower)];
}

/**
 * Whether the user has scrolled away from a room's newest messages. A small distance does not count, because a busy
 * room moves on before the screen is drawn.
 *
 * @param {TimelineWindow} window
 * @param {SeqRange | null} visible
 * @param {SeqRange} shown
 * @param {number} size
 */
export const isScrolledAway = (window, visible, shown, size) =>
  window.type === "range" || (visible !== null && shown[1] - visible[1] > Math.max(10, Math.floor(size / 4)));
