import Foundation
import JWTKit
import ScrollbackModel
import Synchronization

/// The public keys of external token issuers, from files or from a URL.
final class IssuerKeys: Sendable {
    private let location: KeyLocation
    private let download: KeyDownload
    private let fetcher: KeyFetcher
    private let state: Mutex<State>

    /// If new files are invalid, the previous keys remain.
    private struct State {
        var keys: TokenKeys?
        /// The content of the files at the last check.
        var files: [KeyFile] = []
        var issuer: String?
        /// Why the last files are invalid.
        var fault: ChatError?
        /// Keys that are in use, and that the log does not contain yet.
        var unloggedKeys: TokenKeys?
        var version = 0

        mutating func use(_ keys: TokenKeys, of files: [KeyFile]) {
            (self.keys, unloggedKeys, self.files, fault) = (keys, keys, files, nil)
            version += 1
        }
    }

    /// Loads the keys.
    ///
    /// - Parameters:
    ///   - trust: The settings.
    ///   - download: Downloads the keys if they are at a URL. If the first download fails, there are no keys until one
    ///     succeeds.
    /// - Throws: `invalid-parameter` if the keys are in files that are invalid.
    init(_ trust: TokenTrust, download: KeyDownload, clock: @escaping @Sendable () -> Date) async throws(ChatError) {
        location = trust.keys
        self.download = download
        fetcher = KeyFetcher(clock: clock)
        var state = State()
        state.issuer = trust.issuer
        if case .files(let path) = location {
            let files = try KeyFile.all(at: path)
            state.use(try await TokenKeys(files), of: files)
        }
        self.state = Mutex(state)
        await startFetchIfDue()?.value
    }

    /// A number that increases with each change.
    var version: Int { state.withLock { $0.version } }

    /// The required value of the claim `iss`, or `nil` to accept any issuer.
    var issuer: String? { state.withLock { $0.issuer } }

    /// The numbers of downloads since the start.
    var fetchCounts: (successes: Int, failures: Int) { fetcher.counts }

    /// Returns the keys in use if they changed since the last call.
    func takeUnloggedKeys() -> TokenKeys? {
        state.withLock { state in
            defer { state.unloggedKeys = nil }
            return state.unloggedKeys
        }
    }

    // MARK: Changes

    /// Reloads the keys if their files changed, or starts a download in the background if one is due.
    ///
    /// - Throws: The reason why the files are invalid, or why the last download failed.
    func reload() async throws(ChatError) {
        switch location {
        case .files(let path): try await reload(at: path)
        case .url:
            let fault = fetcher.fault
            startFetchIfDue()
            if let fault { throw fault }
        }
    }

    /// Reloads the keys if their files changed.
    ///
    /// Compares the files' content, not their modification times. Orchestrators mount files behind symbolic links, and
    /// two changes within one second can have the same time.
    private func reload(at path: String) async throws(ChatError) {
        let files: [KeyFile]
        do {
            files = try KeyFile.all(at: path)
        } catch {
            // Once the files are readable again, load them even if their content did not change.
            state.withLock { $0.files = [] }
            throw error
        }
        let (isNew, fault) = state.withLock { state in
            defer { state.files = files }
            return (state.files != files, state.fault)
        }
        guard isNew else {
            if let fault { throw fault }
            return
        }
        do throws(ChatError) {
            let keys = try await TokenKeys(files)
            state.withLock { $0.use(keys, of: files) }
        } catch {
            state.withLock { $0.fault = error }
            throw error
        }
    }

    /// Starts a download if the keys are at a URL and a download is due.
    @discardableResult
    private func startFetchIfDue() -> Task<Void, Never>? {
        guard case .url(let url) = location else { return nil }
        return fetcher.startIfDue { [self] () throws(ChatError) in try await fetch(at: url) }
    }

    /// Downloads the keys, and uses them if they changed.
    private func fetch(at url: KeyURL) async throws(ChatError) {
        let published = try await download.published(at: url)
        let isNew = state.withLock { $0.files != [published.file] }
        guard isNew else { return }
        let keys = try await TokenKeys(published: published.file)
        state.withLock { state in
            state.use(keys, of: [published.file])
            if let issuer = published.issuer { state.issuer = issuer }
        }
    }

    // MARK: Verifying

    /// Returns the claims of a token after verifying its signature with the key that its header selects.
    ///
    /// - Throws: `invalid-token`, or `overloaded` if the keys could not be downloaded.
    func claims(of token: String, _ header: TokenHeader) async throws(ChatError) -> ExternalClaims {
        guard let algorithm = KeyAlgorithm(named: header.algorithm) else { throw .unspecificInvalidToken }
        let (keys, version) = state.withLock { ($0.keys, $0.version) }
        do throws(ChatError) {
            return try await Self.claims(of: token, header, algorithm, keys)
        } catch {
            guard case .url(let url) = location else { throw error }
            // The issuer may have published another key since the last download.
            let isKnown = header.kid.map { keys?.contains($0) == true } ?? false
            if !isKnown {
                try await fetcher.fetchForUnknownKey { [self] () throws(ChatError) in try await fetch(at: url) }
            }
            // The keys may also have changed for another token in the meantime.
            let (newKeys, newVersion) = state.withLock { ($0.keys, $0.version) }
            guard newVersion != version else { throw error }
            return try await Self.claims(of: token, header, algorithm, newKeys)
        }
    }

    private static func claims(
        of token: String, _ header: TokenHeader, _ algorithm: KeyAlgorithm, _ keys: TokenKeys?
    ) async throws(ChatError) -> ExternalClaims {
        guard let keys else { throw .unspecificInvalidToken }
        return try await keys.key(of: header, algorithm).verifier.claims(of: token)
    }
}
