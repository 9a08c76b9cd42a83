package import Foundation
import JWTKit
import Logging
package import ScrollbackModel

/// A file of public keys and its content.
package struct KeyFile: Hashable, Sendable {
    var path: String
    var data: Data

    /// The maximum file size in bytes.
    ///
    /// A set with many keys has a few hundred KiB.
    static let maximumBytes = 1 << 20

    /// Reads the file at `path`, or all files `*.pem` and `*.json` of the directory at `path`, sorted by name.
    ///
    /// - Throws: `invalid-parameter` if a file can't be read, or if a directory has no such file.
    static func all(at path: String) throws(ChatError) -> [KeyFile] {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw fault(path, "does not exist")
        }
        guard isDirectory.boolValue else { return [try KeyFile(at: path)] }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw fault(path, "can't be read")
        }
        let keyFileNames = names.filter { !$0.hasPrefix(".") && ($0.hasSuffix(".pem") || $0.hasSuffix(".json")) }
            .sorted()
        guard !keyFileNames.isEmpty else { throw fault(path, "has no *.pem or *.json file") }
        var files: [KeyFile] = []
        let folder = path.hasSuffix("/") ? path : path + "/"
        for name in keyFileNames { files.append(try KeyFile(at: folder + name)) }
        return files
    }

    package init(path: String, data: Data) {
        self.path = path
        self.data = data
    }

    private init(at path: String) throws(ChatError) {
        guard let data = FileManager.default.contents(atPath: path) else { throw Self.fault(path, "can't be read") }
        guard data.count <= Self.maximumBytes else {
            throw Self.fault(path, "has more than \(Self.maximumBytes) bytes")
        }
        self.path = path
        self.data = data
    }

    static func fault(_ path: String, _ reason: String) -> ChatError {
        .invalidParameter("token-keys", "\(path) \(reason)")
    }

    fileprivate typealias Keys = (keys: [(id: String?, key: PublicKey)], ignoredKeys: [String])

    /// Parses the keys of the file.
    ///
    /// The file is a JWK Set if it starts with a brace, and otherwise one PEM key with the file's name as `kid`.
    fileprivate func keys() throws(ChatError) -> Keys {
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.hasPrefix("{") else {
            let name = URL(filePath: path).deletingPathExtension().lastPathComponent
            do {
                return ([(name, try PublicKey(pem: text))], [])
            } catch {
                throw Self.fault(path, error.reason)
            }
        }
        return try set()
    }

    /// Parses the keys of a JWK Set.
    fileprivate func set() throws(ChatError) -> Keys {
        do {
            let set = try JWKSet(data)
            return (set.keys, set.ignoredKeys.map { "\($0) (\(path))" })
        } catch {
            throw Self.fault(path, error.reason)
        }
    }
}

/// A public key that verifies tokens of an external issuer.
struct TokenKey: Sendable {
    /// The `kid` that selects this key.
    let id: String?
    let algorithm: KeyAlgorithm
    /// A collection with only this key.
    let verifier: JWTKeyCollection
}

/// The public keys of the external token issuers.
package struct TokenKeys: Sendable {
    private let keys: [TokenKey]
    /// Descriptions of the keys that are ignored because they have another purpose or algorithm.
    package let ignoredKeys: [String]

    /// Reads the keys of a file, a directory or a URL.
    ///
    /// - Throws: `invalid-parameter` with the path or URL and the reason.
    package static func read(
        _ location: KeyLocation, download: KeyDownload = .overHTTP()
    ) async throws(ChatError) -> TokenKeys {
        switch location {
        case .files(let path): try await TokenKeys(KeyFile.all(at: path))
        case .url(let url): try await TokenKeys(published: download.published(at: url).file)
        }
    }

    package init(_ files: [KeyFile]) async throws(ChatError) {
        var found: [(path: String, KeyFile.Keys)] = []
        for file in files { found.append((file.path, try file.keys())) }
        try await self.init(found)
    }

    /// Parses the JWK Set that an issuer publishes.
    init(published file: KeyFile) async throws(ChatError) {
        try await self.init([(file.path, file.set())])
    }

    private init(_ found: [(path: String, KeyFile.Keys)]) async throws(ChatError) {
        var keys: [TokenKey] = []
        var ignoredKeys: [String] = []
        var paths: [String: String] = [:]
        for (path, found) in found {
            ignoredKeys += found.ignoredKeys
            for (id, key) in found.keys {
                if let id, let other = paths.updateValue(path, forKey: id) {
                    throw KeyFile.fault(
                        path, "has the key \"\(id)\", which \(other) also has: give each key a unique kid")
                }
                keys.append(TokenKey(id: id, algorithm: key.algorithm, verifier: await key.verifier()))
            }
        }
        guard !keys.isEmpty else {
            throw KeyFile.fault(
                found.map(\.path).joined(separator: ", "),
                "has no key for RS256, ES256 or EdDSA"
                    + (ignoredKeys.isEmpty ? "" : ": \(ignoredKeys.joined(separator: "; "))"))
        }
        self.keys = keys
        self.ignoredKeys = ignoredKeys
    }

    /// A readable list of the keys, for example `RS256 "a", EdDSA without a kid`.
    package var summary: String {
        keys.map { "\($0.algorithm.rawValue) \($0.id.map { "\"\($0)\"" } ?? "without a kid")" }
            .joined(separator: ", ")
    }

    func contains(_ kid: String) -> Bool { keys.contains { $0.id == kid } }

    /// Returns the key for a token.
    ///
    /// If the token has a `kid`, the key must have this `kid` and the token's algorithm. Without a `kid`, the token's
    /// algorithm must have exactly one key.
    ///
    /// - Throws: `invalid-token` if no key or more than one key matches.
    func key(of header: TokenHeader, _ algorithm: KeyAlgorithm) throws(ChatError) -> TokenKey {
        if let kid = header.kid {
            guard let key = keys.first(where: { $0.id == kid && $0.algorithm == algorithm }) else {
                throw ChatError(.invalidToken, "The server does not know the token's key. Check its kid and algorithm.")
            }
            return key
        }
        let matching = keys.filter { $0.algorithm == algorithm }
        guard matching.count == 1, let key = matching.first else {
            throw ChatError(
                .invalidToken,
                "The token has no kid, and the server knows \(matching.isEmpty ? "no key" : "several keys") "
                    + "for its algorithm. Add the key's kid to the token's header.")
        }
        return key
    }

    func log(_ logger: Logger) {
        logger.notice("Accepting tokens signed with external keys.", metadata: ["keys": "\(summary)"])
        for reason in ignoredKeys { logger.warning("Ignoring a key.", metadata: ["reason": "\(reason)"]) }
    }
}
