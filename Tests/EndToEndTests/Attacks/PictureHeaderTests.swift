import AsyncHTTPClient
import Foundation
import TestSupport
import Testing

/// A picture with as many empty parts as its size allows.
struct HostilePicture: Sendable, CustomTestStringConvertible {
    var name: String
    var start: [UInt8]
    var part: [UInt8]
    var type: String

    func bytes(_ size: Int) -> [UInt8] {
        start + (0..<(size - start.count) / part.count).flatMap { _ in part }
    }

    var testDescription: String { "\(name) as type \(type)" }

    static let all: [HostilePicture] = [heif, jpeg, png].flatMap { [$0.with(type: "image"), $0] } + [gif]

    private func with(type: String) -> HostilePicture {
        var copy = self
        copy.type = type
        return copy
    }

    private static let heif = HostilePicture(
        name: "HEIF boxes", start: Array("\0\0\0\u{10}ftypheic\0\0\0\0".utf8), part: Array("\0\0\0\u{8}free".utf8),
        type: "file")
    private static let jpeg = HostilePicture(
        name: "JPEG segments", start: [0xFF, 0xD8], part: [0xFF, 0xFE, 0, 2], type: "file")
    private static let png = HostilePicture(
        name: "PNG chunks", start: signature + header, part: Array("\0\0\0\0tEXt\0\0\0\0".utf8), type: "file")
    /// A message of type `gif` has at most 2 MiB.
    private static let gif = HostilePicture(
        name: "GIF blocks", start: Array("GIF89a\u{2}\0\u{2}\0\0\0\0".utf8), part: [0x21, 0xFE, 0], type: "file")

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// The chunk of a picture of one pixel, with a checksum of zeros.
    private static let header = Array("\0\0\0\u{D}IHDR\0\0\0\u{1}\0\0\0\u{1}\u{8}\0\0\0\0\0\0\0\0".utf8)
}

/// Small versions of the picture attacks of `scrollback-bench attack`.
@Suite("Hostile pictures", .enabled(if: RunningServer.reportsResources))
struct PictureHeaderTests {
    private static let size = 16 << 20

    @Test(
        "A picture with millions of empty parts costs no more than another file of its size",
        arguments: HostilePicture.all)
    func emptyParts(picture: HostilePicture) async throws {
        let fixture = try await MediaServer()
        let plain = [UInt8](repeating: 0x78, count: Self.size)
        // The first upload warms the server up. The second differs, because a known file costs less.
        try #require(try await cost(of: plain, "file", fixture).status == 201)
        let usual = try await cost(of: plain.dropLast() + [0], "file", fixture)
        let hostile = try await cost(of: picture.bytes(Self.size), picture.type, fixture)
        // The server can close the connection before it has received all of a refused picture.
        #expect(usual.status == 201 && [201, 422, nil].contains(hostile.status))
        #expect(try await fixture.alice.call("GET", "/v1/me").status == 200, "The server still answers.")
        // Both are CPU time and memory of the server alone, so other processes hardly change the ratio.
        #expect(hostile.cpu < 4 * usual.cpu + 1, "\(hostile.cpu) s of CPU time, another file takes \(usual.cpu) s.")
        // The file can be mapped into memory once.
        #expect(hostile.memory < Self.size + (16 << 20), "The server grew by \(hostile.memory >> 20) MiB.")
    }

    private func cost(
        of bytes: [UInt8], _ type: String, _ fixture: MediaServer
    ) async throws -> (status: Int?, cpu: Double, memory: Int) {
        try fixture.server.resetPeak()
        let (cpu, memory) = (try fixture.server.cpuSeconds, try #require(fixture.server.residentBytes))
        // The server's work is measured, not the time that it takes on a busy machine.
        var status: Int?
        do {
            status = try await fixture.alice.call(
                "POST", MediaServer.path(type), bytes: bytes, type: "application/octet-stream", within: 600
            ).status
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            throw error
        } catch {
            // The server closed the connection.
        }
        let peak = try #require(fixture.server.peakResidentBytes)
        return (status, try fixture.server.cpuSeconds - cpu, peak - memory)
    }
}
