import ScrollbackModel
import Testing

@testable import ScrollbackServer

@Suite struct S3LocationTests {
    @Test func `A URL names the bucket, the endpoint, the region and the prefix`() throws {
        let other = try S3Location("s3://chat.files-1?endpoint=http://minio:9000/&prefix=a/%D8%B5%20%F0%9F%90%A6/")
        #expect(other.bucket == "chat.files-1" && other.region == "us-east-1")
        #expect(other.endpoint == "http://minio:9000" && other.host == "minio:9000")
        #expect(other.prefix == "a/ص 🐦/")
        let amazon = try S3Location("s3://chat?region=eu-central-1&prefix=team")
        #expect(amazon.endpoint == "https://s3.eu-central-1.amazonaws.com" && amazon.prefix == "team/")
        #expect(try S3Location("s3://chat?region=cn-north-1").host == "s3.cn-north-1.amazonaws.com.cn")
        #expect(try S3Location("s3://chat?endpoint=https://files:443").host == "files")
        #expect(try S3Location("s3://chat/?endpoint=https://[::1]:9443").host == "[::1]:9443")
    }

    @Test(arguments: [
        ("", "must be a URL"), ("https://chat", "must be a URL"), ("s3:chat?region=a", "must name a bucket"),
        ("s3://?region=a", "must name a bucket"), ("s3://ab?region=a", "must name a bucket"),
        ("s3://Chat?region=a", "must name a bucket"), ("s3://chat_1?region=a", "must name a bucket"),
        ("s3://key:secret@chat?region=a", "must not contain credentials"),
        ("s3://key@chat?region=a", "must not contain credentials"),
        ("s3://chat/folder?region=a", "Use prefix="), ("s3://chat:9000?region=a", "nothing but the bucket"),
        ("s3://chat?region=a#b", "nothing but the bucket"), ("s3://chat", "must have region="),
        ("s3://chat?prefix=a", "must have region="), ("s3://chat?region=A", "invalid region"),
        ("s3://chat?region=", "no value for region"), ("s3://chat?region", "no value for region"),
        ("s3://chat?region=a&region=b", "region twice"), ("s3://chat?regoin=a", "unknown parameter regoin"),
        ("s3://chat?region=a&endpoint=host", "invalid endpoint"),
        ("s3://chat?region=a&endpoint=ftp://host", "invalid endpoint"),
        ("s3://chat?region=a&endpoint=https://host/path", "invalid endpoint"),
        ("s3://chat?region=a&endpoint=https://key:secret@host", "invalid endpoint"),
        ("s3://chat?region=a&prefix=/a", "invalid prefix"), ("s3://chat?region=a&prefix=a//b", "invalid prefix"),
        ("s3://chat?region=a&prefix=..", "invalid prefix"), ("s3://chat?region=a&prefix=a%00b", "invalid prefix"),
        ("s3://chat?region=a&prefix=\(String(repeating: "a", count: 513))", "invalid prefix"),
    ])
    func `An invalid URL is refused with the reason, and without its secrets`(url: String, reason: String) throws {
        let error = #expect(throws: ChatError.self) { try S3Location(url) }
        #expect(error?.code == .invalidParameter && error?.parameter == "files")
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `Missing credentials are refused with the name of the variable`() throws {
        let key = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": ""]
        #expect(try S3Credentials(environment: key).sessionToken == nil)
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            for value in [nil, ""] {
                var environment = key
                environment[name] = value
                let error = #expect(throws: ChatError.self) { try S3Credentials(environment: environment) }
                #expect(error?.parameter == "files" && error?.message.contains(name) == true)
            }
        }
    }
}
