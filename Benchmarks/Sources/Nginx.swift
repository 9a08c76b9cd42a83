import Foundation

/// An nginx process with its own configuration, which serves files and receives them with PUT.
final class Nginx {
    let address: URL
    /// The directory of served and received files.
    let files: URL
    private let process: Process
    private let folder: TemporaryFolder

    /// Starts nginx, or returns `nil` if it is not installed.
    init?() throws {
        let places = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx", "/opt/homebrew/bin/nginx"]
        guard let program = places.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            return nil
        }
        folder = try TemporaryFolder()
        files = folder.url.appending(path: "files")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        let port = try Self.freePort()
        guard let url = URL(string: "http://127.0.0.1:\(port)") else { throw BenchError("No address.") }
        address = url
        let root = folder.url.path
        let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        let configuration = """
            daemon off;
            \(geteuid() == 0 ? "user root;" : "")
            worker_processes auto;
            pid \(root)/nginx.pid;
            error_log \(root)/error.log crit;
            events { worker_connections 256; }
            http {
                access_log off;
                sendfile on;
                tcp_nopush on;
                keepalive_requests 100000000;
                client_max_body_size 0;
                client_body_buffer_size 256k;
                \(kinds.map { "\($0)_temp_path \(root)/\($0);" }.joined(separator: "\n    "))
                server {
                    listen 127.0.0.1:\(port);
                    root \(files.path);
                    location / { dav_methods PUT; create_full_put_path on; }
                }
            }
            """
        let file = folder.url.appending(path: "nginx.conf")
        try Data(configuration.utf8).write(to: file)
        process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = ["-p", root, "-c", file.path, "-e", "\(root)/error.log"]
        try process.run()
        for _ in 0..<100 {
            if (try? PlainHTTP(address)) != nil { return }
            usleep(50_000)
        }
        stop()
        throw BenchError("nginx did not start. Check that it includes ngx_http_dav_module.")
    }

    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failed = withUnsafeMutablePointer(to: &place) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) != 0 || getsockname(descriptor, $0, &size) != 0
            }
        }
        guard !failed else { throw BenchError("No free port.") }
        return UInt16(bigEndian: place.sin_port)
    }

    /// The process IDs of nginx and its workers.
    var processIdentifiers: [Int32] {
        let own = process.processIdentifier
        let text = (try? String(contentsOfFile: "/proc/\(own)/task/\(own)/children", encoding: .utf8)) ?? ""
        return [own] + text.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
        folder.remove()
    }
}
