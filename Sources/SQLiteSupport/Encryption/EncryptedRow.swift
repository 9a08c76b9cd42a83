package import Foundation

/// The row to which encrypted values are bound: a value that was moved to another row can't be decrypted.
package struct EncryptedRow: Sendable, Equatable {
    package let table: String
    package let key: [Part]

    /// A value of the key.
    package enum Part: Sendable, Equatable, Codable {
        case number(Int64)
        case text(String)
        case bytes(UUID)
    }

    package init(_ table: String, _ key: Part...) {
        self.init(table, key: key)
    }

    package init(_ table: String, key: [Part]) {
        self.table = table
        self.key = key
    }

    /// Returns the data that is authenticated with a column's value, which is unique for each column and row.
    func authenticated(_ column: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        func add(_ text: String) {
            withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: text.utf8)
        }
        add(table)
        add(column)
        for part in key {
            switch part {
            case .number(let number):
                bytes.append(1)
                withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
            case .text(let text):
                bytes.append(2)
                add(text)
            case .bytes(let uuid):
                bytes.append(3)
                withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
            }
        }
        return bytes
    }

    /// The row's name in errors, which contains IDs and sequence numbers but no texts.
    var name: String {
        let parts = key.map { part in
            switch part {
            case .number(let number): "\(number)"
            case .text(let text): text
            case .bytes(let uuid): uuid.uuidString.lowercased()
            }
        }
        return "\(table) \(parts.joined(separator: "/"))"
    }
}
