import Foundation
import ScrollbackEngine
import SQLiteSupport
import StoreConformance
import TestSupport
import Testing

@testable import ScrollbackServer

@Suite struct MediaStoreConformanceTests {
    private let folder: TemporaryFolder
    private let threads: FileThreads

    init() throws {
        folder = try TemporaryFolder()
        threads = .started()
    }

    private static func keys(_ isEncrypted: Bool) throws -> StoreKeys? {
        guard isEncrypted else { return nil }
        return try StoreKeys(text: Data(repeating: 1, count: 32).base64EncodedString())
    }

    @Test(arguments: MediaStoreConformance.cases, [false, true])
    func `The media store on disk passes every conformance test`(
        _ testCase: MediaStoreConformance.Case, isEncrypted: Bool
    ) async throws {
        let keys = try Self.keys(isEncrypted)
        try await MediaStoreConformance { [folder, threads] in
            try DiskMediaStore(in: folder.url, threads: threads, keys: keys)
        }.run(testCase)
    }

    @Test(.needs(.s3), .serialized, arguments: MediaStoreConformance.cases, [false, true])
    func `The media store in a bucket passes every conformance test`(
        _ testCase: MediaStoreConformance.Case, isEncrypted: Bool
    ) async throws {
        let keys = try Self.keys(isEncrypted)
        let client = try S3Client(S3Bucket(named: "tests and more/صور 🐦+=&"))
        // Each opening is another server, with a data directory of its own.
        try await MediaStoreConformance { [folder, threads] in
            let data = folder.url.appending(component: UUID().uuidString)
            try FileManager.default.createDirectory(at: data, withIntermediateDirectories: false)
            return try S3MediaStore(client, in: data, threads: threads, keys: keys)
        }.run(testCase)
    }
}
