// @ts-check

/** @typedef {import("../wire/frames.js").UserProfile} UserProfile */
/** @typedef {import("./database.js").Transaction} Transaction */

/** The time in milliseconds after which a stored profile is fetched again. */
export const profileLifetime = 60 * 60 * 1000;

/**
 * Returns the stored profiles of users, and the users whose profile is unknown or was fetched too long ago.
 *
 * @param {Transaction} transaction
 * @param {Iterable<string>} users
 * @param {number} now
 */
export async function profiles(transaction, users, now) {
  /** @type {Map<string, UserProfile>} */
  const known = new Map();
  /** @type {string[]} */
  const outdated = [];
  const unique = [...new Set(users)];
  const rows = await Promise.all(unique.map((user) => transaction.get("people", user)));
  for (const [index, user] of unique.entries()) {
    const row = rows[index];
    if (row?.profile) known.set(user, row.profile);
    if (!row || row.fetchedAt < now - profileLifetime) outdated.push(user);
  }
  return { known, outdated };
}

/**
 * Stores fetched profiles. Users without a profile are recorded too, so that they are not fetched again and again.
 *
 * @param {Transaction} transaction
 * @param {readonly UserProfile[]} found
 * @param {readonly string[]} users The users that were requested.
 * @param {number} now
 */
export function saveProfiles(transaction, found, users, now) {
  const byUser = new Map(found.map((profile) => [profile.user, profile]));
  for (const user of users) {
    transaction.put("people", { user, profile: byUser.get(user) ?? null, fetchedAt: now });
  }
}
