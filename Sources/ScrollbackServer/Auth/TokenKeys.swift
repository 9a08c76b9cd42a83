import Foundation
import JWTKit
import Logging
package import ScrollbackModel

/// A file of public keys, as it lies on the disk.
struct KeyFile: Hashable, Sendable {
    var path: String
    var data: Data

    /// A set of many keys takes some hundred KiB.
    private static let mostBytes = 1 << 20

    /// The file, or what is called `*.pem` and `*.json` in the directory, by name.
    ///
    /// - Throws: what the system says, and of a directory that it has none.
    static func all(at path: String) throws(ChatError) -> [KeyFile] {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw fault(path, "is not there")
        }
        guard isDirectory.boolValue else { return [try KeyFile(at: path)] }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw fault(path, "can't be read")
        }
        let wanted = names.filter { !$0.hasPrefix(".") && ($0.hasSuffix(".pem") || $0.hasSuffix(".json")) }.sorted()
        guard !wanted.isEmpty else { throw fault(path, "has neither a *.pem nor a *.json") }
        var files: [KeyFile] = []
        let folder = path.hasSuffix("/") ? path : path + "/"
        for name in wanted { files.append(try KeyFile(at: folder + name)) }
        return files
    }

    private init(at path: String) throws(ChatError) {
        guard let data = FileManager.default.contents(atPath: path) else { throw Self.fault(path, "can't be read") }
        guard data.count <= Self.mostBytes else { throw Self.fault(path, "has more than \(Self.mostBytes) bytes") }
        self.path = path
        self.data = data
    }

    static func fault(_ path: String, _ reason: String) -> ChatError {
        .invalidParameter("token-keys", "\(path) \(reason)")
    }

    /// The keys it has: a JWK Set where it begins with a brace, else one in PEM, called as the file is.
    fileprivate func keys() throws(ChatError) -> (keys: [(id: String?, key: PublicKey)], passedOver: [String]) {
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        do throws(KeyFault) {
            guard text.hasPrefix("{") else {
                let name = URL(filePath: path).deletingPathExtension().lastPathComponent
                return ([(name, try PublicKey(pem: text))], [])
            }
            let set = try JWKSet(data)
            return (set.keys, set.passedOver.map { "\($0) (\(path))" })
        } catch {
            throw Self.fault(path, error.reason)
        }
    }
}

/// A key by which tokens of somebody else are known.
struct TokenKey: Sendable {
    /// Which `kid` means it.
    let id: String?
    let algorithm: KeyAlgorithm
    /// Has this key alone.
    let verifier: JWTKeyCollection
}

/// The public keys of people who sign tokens themselves.
package struct TokenKeys: Sendable {
    private let keys: [TokenKey]
    /// Keys of the files that are for something else, and why.
    package let passedOver: [String]

    /// - Throws: `invalid-parameter`, naming the file and what is wrong with it.
    package static func read(_ path: String) async throws(ChatError) -> TokenKeys {
        try await TokenKeys(KeyFile.all(at: path))
    }

    init(_ files: [KeyFile]) async throws(ChatError) {
        var keys: [TokenKey] = []
        var passedOver: [String] = []
        var paths: [String: String] = [:]
        for file in files {
            let found = try file.keys()
            passedOver += found.passedOver
            for (id, key) in found.keys {
                if let id, let other = paths.updateValue(file.path, forKey: id) {
                    throw KeyFile.fault(
                        file.path, "has a second key \"\(id)\", after that of \(other): give each a kid of its own")
                }
                keys.append(TokenKey(id: id, algorithm: key.algorithm, verifier: await key.verifier()))
            }
        }
        guard !keys.isEmpty else {
            throw KeyFile.fault(
                files.map(\.path).joined(separator: ", "),
                "has no key for RS256, ES256 or EdDSA"
                    + (passedOver.isEmpty ? "" : ": \(passedOver.joined(separator: "; "))"))
        }
        self.keys = keys
        self.passedOver = passedOver
    }

    /// For people: `RS256 "a", EdDSA without a kid`.
    package var summary: String {
        keys.map { "\($0.algorithm.rawValue) \($0.id.map { "\"\($0)\"" } ?? "without a kid")" }
            .joined(separator: ", ")
    }

    /// The key that a token names, which must be of the token's algorithm; of a token that names none, the only one of it.
    ///
    /// - Throws: `invalid-token`.
    func key(of header: TokenHeader, _ algorithm: KeyAlgorithm) throws(ChatError) -> TokenKey {
        if let kid = header.kid {
            guard let key = keys.first(where: { $0.id == kid && $0.algorithm == algorithm }) else {
                throw ChatError(.invalidToken, "the token's key is not known here: is its kid that of the key's file?")
            }
            return key
        }
        let fitting = keys.filter { $0.algorithm == algorithm }
        guard fitting.count == 1, let key = fitting.first else {
            throw ChatError(
                .invalidToken,
                "the token names no key, and \(fitting.isEmpty ? "none" : "more than one") is known here "
                    + "of its algorithm: give it the kid of its key")
        }
        return key
    }

    func tell(_ logger: Logger) {
        logger.notice("tokens by others' keys are taken", metadata: ["keys": "\(summary)"])
        for reason in passedOver { logger.warning("a key is passed over", metadata: ["reason": "\(reason)"]) }
    }
}
