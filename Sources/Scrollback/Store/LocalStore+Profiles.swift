package import Foundation
import GRDB
package import ScrollbackModel
import ScrollbackWire
import SQLiteSupport

/// The stored profiles of some users, and the users whose profiles should be fetched.
package struct LocalProfiles: Sendable {
    package var profiles: [UserID: UserProfile] = [:]
    /// Users whose profile was never fetched, or too long ago.
    package var outdated: Set<UserID> = []
}

extension LocalReader {
    /// - Parameter time: Profiles that were fetched before this time are reported as outdated.
    package func profiles(_ users: Set<UserID>, fetchedSince time: Date) throws -> LocalProfiles {
        var people = LocalProfiles()
        let statement = try db.cachedStatement(sql: "SELECT profile, fetchedAt FROM person WHERE user = ?")
        for user in users {
            guard let row = try Row.fetchOne(statement, arguments: [user.text]) else {
                people.outdated.insert(user)
                continue
            }
            if row[1] < time.timeIntervalSince1970 { people.outdated.insert(user) }
            guard let text = try text(row[0], "profile", of: .person(user)), !text.isEmpty else { continue }
            var reader = JSONReader(text)
            people.profiles[user] = try UserProfile(from: &reader)
        }
        return people
    }
}

extension LocalWriter {
    /// Stores the profiles of `users`; users without a profile in `profiles` are stored as having none.
    package func save(_ profiles: [UserProfile], of users: [UserID], now: Date) throws {
        let known = Dictionary(profiles.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        let statement = try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO person (user, profile, fetchedAt) VALUES (?, ?, ?)")
        for user in users {
            var writer = JSONWriter()
            known[user]?.write(to: &writer)
            try statement.execute(arguments: [
                user.text, try reader.stored(writer.text, "profile", of: .person(user)), now.timeIntervalSince1970,
            ])
        }
    }
}
