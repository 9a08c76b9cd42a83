import Foundation
import Testing

@testable import ScrollbackServer

/// Compares requests with those of Amazon's own library, which `Tests/Fixtures/make_s3_signatures.py` recorded.
@Suite struct S3SignatureTests {
    private struct Samples: Decodable {
        struct Vector: Decodable {
            var method: String
            var key: String
            var query: [String: String]
            var token: String?
            var path: String
            var headers: [String: String]
            var authorization: String
        }

        var accessKey: String
        var secretKey: String
        var region: String
        var bucket: String
        var time: Date
        var vectors: [Vector]
    }

    private func samples() throws -> Samples {
        let tests = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(
            Samples.self, from: Data(contentsOf: tests.appending(path: "Fixtures/S3/signatures.json")))
    }

    @Test func `Paths, queries and signatures are those of Amazon's library`() throws {
        let samples = try samples()
        #expect(samples.vectors.count == 60)
        let time = S3Signature.time(samples.time)
        for vector in samples.vectors {
            var environment = ["AWS_ACCESS_KEY_ID": samples.accessKey, "AWS_SECRET_ACCESS_KEY": samples.secretKey]
            environment["AWS_SESSION_TOKEN"] = vector.token
            let path = S3Signature.path(ofBucket: samples.bucket, key: vector.key)
            #expect(path == vector.path)
            #expect(vector.headers["x-amz-date"] == time)
            let request = S3Signature.Request(
                method: vector.method, path: path, query: S3Signature.query(vector.query),
                headers: vector.headers.map { ($0.key, $0.value) },
                payload: try #require(vector.headers["x-amz-content-sha256"]))
            let authorization = S3Signature.authorization(
                of: request, region: samples.region, time: time,
                credentials: try S3Credentials(environment: environment))
            #expect(authorization == vector.authorization, "\(vector.method) \(vector.path) \(vector.query)")
        }
    }
}
