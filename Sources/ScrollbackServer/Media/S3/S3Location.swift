import Foundation
import ScrollbackModel

/// The bucket that contains the files, as the option `--files` names it:
/// `s3://BUCKET?endpoint=https://HOST&region=REGION&prefix=PREFIX`.
struct S3Location: Hashable, Sendable {
    let bucket: String
    /// The scheme, the host, and the port if it is not the scheme's own.
    let endpoint: String
    /// The value of the `Host` header.
    let host: String
    let region: String
    /// The beginning of all keys: empty, or text that ends with a slash.
    let prefix: String

    /// The address of the part of the bucket, without its region.
    var name: String { "\(endpoint)/\(bucket)/\(prefix)" }

    private static let example = "s3://bucket?endpoint=https://host&region=eu-central-1"
    private static let parameters = ["endpoint", "region", "prefix"]

    /// Parses the value of the option.
    ///
    /// - Throws: `invalid-parameter` for the option `files`, which never contains the URL's user and password.
    init(_ text: String) throws(ChatError) {
        guard let url = URLComponents(string: text), url.scheme == "s3" else {
            throw Self.invalid("must be a URL such as \(Self.example)")
        }
        guard url.user == nil, url.password == nil else {
            throw Self.invalid(
                "must not contain credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment "
                    + "instead")
        }
        bucket = url.host ?? ""
        guard (3...63).contains(bucket.utf8.count), bucket.utf8.allSatisfy(Self.isAllowedInBucket) else {
            throw Self.invalid(
                "must name a bucket after s3://, with 3 to 63 characters from a-z 0-9 . -, as in \(Self.example)")
        }
        guard url.port == nil, url.fragment == nil, ["", "/"].contains(url.path) else {
            throw Self.invalid("must have nothing but the bucket before the ?. Use prefix= for the beginning of keys")
        }
        let values = try Self.parameters(of: url)
        region = values["region"] ?? "us-east-1"
        guard region.utf8.allSatisfy(Self.isAllowedInRegion) else {
            throw Self.invalid("has an invalid region. Use a name such as region=eu-central-1")
        }
        guard values["endpoint"] != nil || values["region"] != nil else {
            throw Self.invalid("must have region= for Amazon S3, or endpoint= for another store: \(Self.example)")
        }
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        (endpoint, host) = try Self.endpoint(values["endpoint"] ?? "https://s3.\(region).\(domain)")
        prefix = try Self.prefix(values["prefix"] ?? "")
    }

    private static func invalid(_ reason: String) -> ChatError { .invalidParameter("files", reason) }

    private static func isAllowedInBucket(_ byte: UInt8) -> Bool { isAllowedInRegion(byte) || byte == 0x2E }

    private static func isAllowedInRegion(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x61...0x7A, 0x2D: true
        default: false
        }
    }

    private static func parameters(of url: URLComponents) throws(ChatError) -> [String: String] {
        var values: [String: String] = [:]
        for item in url.queryItems ?? [] {
            guard parameters.contains(item.name) else {
                throw invalid("has the unknown parameter \(item.name). Use \(parameters.joined(separator: ", "))")
            }
            guard let value = item.value, !value.isEmpty else {
                throw invalid("has no value for \(item.name). Set it, or leave it out")
            }
            guard values.updateValue(value, forKey: item.name) == nil else {
                throw invalid("has \(item.name) twice. Use it once")
            }
        }
        return values
    }

    private static func endpoint(_ text: String) throws(ChatError) -> (endpoint: String, host: String) {
        guard let url = URLComponents(string: text), let scheme = url.scheme, ["http", "https"].contains(scheme),
            let name = url.host, !name.isEmpty, url.user == nil, url.password == nil, url.query == nil,
            url.fragment == nil, ["", "/"].contains(url.path)
        else {
            throw invalid("has an invalid endpoint. Use the address of the store alone, such as https://host:9000")
        }
        let port = url.port == (scheme == "https" ? 443 : 80) ? nil : url.port
        let host = name + (port.map { ":\($0)" } ?? "")
        return ("\(scheme)://\(host)", host)
    }

    private static func prefix(_ text: String) throws(ChatError) -> String {
        guard !text.isEmpty else { return "" }
        let folders = text.split(separator: "/", omittingEmptySubsequences: false)
        let folder = folders.last == "" ? folders.dropLast() : folders[...]
        guard text.utf8.count <= 512, folder.allSatisfy({ !["", ".", ".."].contains($0) }),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw invalid("has an invalid prefix. Use at most 512 bytes of names with slashes between them: prefix=a/b")
        }
        return folder.joined(separator: "/") + "/"
    }
}
