import Foundation

/// An empty part of the bucket of the S3 server that `scripts/test-s3.sh` starts.
///
/// Tests that use it have the trait `needs(.s3)`. The server deletes its objects when it stops.
package struct S3Bucket: Sendable {
    /// The value of the option `--files`.
    package let url: String
    /// The environment variables with the access key.
    package let environment = ["AWS_ACCESS_KEY_ID": "test:tester", "AWS_SECRET_ACCESS_KEY": "testing"]

    /// Commands of `sh` that set the environment variables.
    package var exports: String {
        "export " + environment.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }

    /// Creates the value of the option with a new prefix.
    ///
    /// - Parameter name: The beginning of the prefix, which may have any characters.
    package init(named name: String = "tests") throws {
        let server = try String(contentsOfFile: Requirement.s3.path(), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let prefix = "\(name)/\(UUID().uuidString)".addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        url = "\(server)&prefix=\(prefix ?? "")"
    }
}
