import TestSupport

@testable import ScrollbackServer

extension S3Client {
    /// Creates a client for a bucket of the server for tests.
    convenience init(_ bucket: S3Bucket) throws {
        self.init(
            try S3Location(bucket.url), try S3Credentials(environment: bucket.environment),
            logger: LogRecorder().logger)
    }
}
