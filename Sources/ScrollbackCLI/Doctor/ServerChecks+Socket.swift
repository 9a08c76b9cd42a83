import Foundation
import Scrollback
import ScrollbackModel

extension ServerChecks {
    /// Checks the WebSocket upgrade and frames in both directions.
    func socket() async -> Finding {
        let proxy =
            "Let the proxy pass the upgrade of /v1/connect. nginx needs proxy_http_version 1.1, proxy_set_header "
            + "Upgrade $http_upgrade and proxy_set_header Connection \"upgrade\"."
        let (frames, continuation) = AsyncStream.makeStream(of: String.self)
        do {
            let connection = try await NIOTransport().open(address) { event in
                switch event {
                case .frame(let bytes): continuation.yield(String(decoding: bytes, as: UTF8.self))
                case .closed(let closure): continuation.yield("closed \(closure.code ?? 0)")
                }
            }
            defer { connection.close() }
            guard let token else {
                return .ok("WebSocket", "The upgrade succeeds. Without a token, frames were not checked.")
            }
            var hello = JSONWriter()
            hello.object { writer in
                writer.field("type", "hello")
                writer.field("token", token)
                writer.field("device", "doctor")
            }
            connection.send(hello.bytes)
            let timeout = Task {
                try await Task.sleep(for: .seconds(10))
                continuation.yield("no response within 10 s")
            }
            defer { timeout.cancel() }
            let answer = await frames.first { _ in true } ?? ""
            if answer.contains(#""type":"welcome""#) {
                return .ok("WebSocket", "The upgrade and frames in both directions succeed.")
            }
            if answer == "closed 4001" {
                return .ok("WebSocket", "The upgrade and frames succeed, but the token belongs to another server.")
            }
            return .failed("WebSocket", "The upgrade succeeds, but then failed: \(answer.prefix(100)).", fix: proxy)
        } catch {
            return .failed("WebSocket", "HTTP requests succeed, but the WebSocket upgrade fails.", fix: proxy)
        }
    }
}
