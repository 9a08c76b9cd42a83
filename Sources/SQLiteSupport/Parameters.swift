package import Foundation
import GRDBSQLite

/// Binds values to a statement in the order of its parameters.
package struct Parameters {
    private let statement: OpaquePointer
    private let cipher: StoreCipher?
    private var index: CInt = 0
    /// The error if a value could not be encrypted; the statement must then not run.
    private(set) var failure: (any Error)?

    /// Makes SQLite copy the value.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// Creates a binder for a statement.
    ///
    /// - Parameter cipher: Encrypts texts.
    package init(_ statement: OpaquePointer, cipher: StoreCipher? = nil) {
        self.statement = statement
        self.cipher = cipher
    }

    package mutating func add(_ number: Int64) {
        index += 1
        sqlite3_bind_int64(statement, index, number)
    }

    package mutating func add(_ number: Int64?) {
        if let number { add(number) } else { addNull() }
    }

    package mutating func add(_ flag: Bool) { add(Int64(flag ? 1 : 0)) }

    /// Binds the bits of an unsigned number as a signed number.
    package mutating func add(bits: UInt64) { add(Int64(bitPattern: bits)) }

    package mutating func add(_ text: String) {
        index += 1
        var text = text
        text.withUTF8 { utf8 in
            // SQLite would bind a missing address as NULL, which differs from an empty text.
            guard let start = utf8.baseAddress, !utf8.isEmpty else {
                sqlite3_bind_text(statement, index, "", 0, Self.copied)
                return
            }
            start.withMemoryRebound(to: CChar.self, capacity: utf8.count) {
                _ = sqlite3_bind_text(statement, index, $0, CInt(utf8.count), Self.copied)
            }
        }
    }

    package mutating func add(_ text: String?) {
        if let text { add(text) } else { addNull() }
    }

    /// Binds a text, encrypted if the store has keys.
    package mutating func add(_ text: String?, _ column: String, of row: @autoclosure () -> EncryptedRow) {
        guard var text else { return addNull() }
        guard let cipher, let key = cipher.newest else { return add(text) }
        do {
            let value = try text.withUTF8 {
                try cipher.encrypt(UnsafeRawBufferPointer($0), with: key, for: column, of: row())
            }
            index += 1
            value.withUnsafeBytes { bytes in
                switch cipher.storageClass {
                case .text:
                    _ = sqlite3_bind_text(
                        statement, index, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count),
                        Self.copied)
                case .blob:
                    _ = sqlite3_bind_blob(statement, index, bytes.baseAddress, CInt(bytes.count), Self.copied)
                }
            }
        } catch {
            failure = error
            addNull()
        }
    }

    /// Binds a date without loss of precision.
    package mutating func add(_ date: Date?) {
        guard let date else { return addNull() }
        index += 1
        sqlite3_bind_double(statement, index, date.timeIntervalSinceReferenceDate)
    }

    package mutating func add(_ uuid: UUID?) {
        guard let uuid else { return addNull() }
        index += 1
        withUnsafeBytes(of: uuid.uuid) {
            _ = sqlite3_bind_blob(statement, index, $0.baseAddress, CInt($0.count), Self.copied)
        }
    }

    package mutating func add(_ part: EncryptedRow.Part) {
        switch part {
        case .number(let number): add(number)
        case .text(let text): add(text)
        case .bytes(let uuid): add(uuid)
        }
    }

    /// Binds the bytes of a value.
    package mutating func add(bytesOf value: some BitwiseCopyable) {
        index += 1
        withUnsafeBytes(of: value) {
            _ = sqlite3_bind_blob(statement, index, $0.baseAddress, CInt($0.count), Self.copied)
        }
    }

    /// Binds a text as it is, even if it is not valid.
    package mutating func add(utf8 bytes: [UInt8]) {
        index += 1
        bytes.withUnsafeBytes { bytes in
            // An empty array may have no address, which would bind NULL.
            let start = bytes.bindMemory(to: CChar.self).baseAddress
            withUnsafePointer(to: 0 as CChar) { empty in
                _ = sqlite3_bind_text(statement, index, start ?? empty, CInt(bytes.count), Self.copied)
            }
        }
    }

    package mutating func add(bytes: [UInt8]) {
        index += 1
        // An empty array may have no address, which would bind NULL.
        if bytes.isEmpty { return _ = sqlite3_bind_zeroblob(statement, index, 0) }
        sqlite3_bind_blob(statement, index, bytes, CInt(bytes.count), Self.copied)
    }

    package mutating func addNull() {
        index += 1
        sqlite3_bind_null(statement, index)
    }
}
