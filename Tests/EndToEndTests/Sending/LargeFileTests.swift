import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

@Suite("Large files over an unreliable line")
struct LargeFileTests {
    /// The number of bytes that the SDK sends or requests at a time.
    private static let piece = 4 << 20

    @Test(
        "A large file is uploaded and downloaded with little memory, and a cut costs at most one piece",
        .rows(103, 104, 109), .timeLimit(.minutes(10)))
    func largeFileIsTransferredWithLittleMemory() async throws {
        let size = Run.isLong ? 100 << 20 : 24 << 20
        let cuts = Run.isLong ? 20 : 5
        var generator = SplitMix64(printingSeedFor: "a large file")
        let server = try await RunningServer.start()
        let proxy = try await TestProxy(to: server)
        let made = try await server.admin().call(
            "PUT", "/v1/conversations/group:large", #"{"members":["alice","bob"]}"#)
        try #require(made.status == 201)
        let file = server.folder.appending(component: "film.bin")
        try Self.fill(file, size, &generator)
        let memoryBefore = try #require(Self.memory(server.pid, "VmRSS"))

        // Upload with a single run of the command, which resumes by itself.
        let to = ["--server", proxy.url.absoluteString, "--data", server.data.path]
        proxy.cut(up: Self.places(cuts, size, &generator))
        let upload = try RunningServer.run(
            ["send", "group:large", "--file", file.path, "--as", "alice"] + to, name: "send", folder: server.folder)
        var uploadMemory = 0
        while upload.end == nil {
            uploadMemory = max(uploadMemory, Self.memory(upload.pid, "VmHWM") ?? 0)
            try await Task.sleep(for: .milliseconds(2))
        }
        #expect(upload.end == 0, "\(upload.errorText)")
        let wasted = proxy.carriedUp - size
        #expect(proxy.cuts == cuts)
        #expect(wasted <= cuts * Self.piece + (1 << 20), "More than one piece for each cut was sent again.")

        // Download by running the command again after each cut, with the same store.
        let copy = server.folder.appending(component: "copy.bin")
        let store = server.folder.appending(component: "phone").path
        let carriedBefore = proxy.carried
        proxy.cut(down: Self.places(cuts, size, &generator))
        var (runs, downloadMemory, code) = (0, 0, Int32(1))
        while code != 0 {
            let cutsBefore = proxy.cuts
            let download = try RunningServer.run(
                ["download", "group:large", "seq:1", "--as", "bob", "--output", copy.path, "--store", store] + to,
                name: "download-\(runs)", folder: server.folder)
            runs += 1
            while download.end == nil {
                downloadMemory = max(downloadMemory, Self.memory(download.pid, "VmHWM") ?? 0)
                try await Task.sleep(for: .milliseconds(2))
            }
            code = download.end ?? 1
            try #require(code == 0 || proxy.cuts > cutsBefore, "\(download.errorText)")
        }
        #expect(proxy.cuts == 2 * cuts)
        let wastedDown = proxy.carried - carriedBefore - size
        #expect(wastedDown <= cuts * Self.piece + (1 << 20), "More than one piece for each cut was fetched again.")
        #expect(FileManager.default.contentsEqual(atPath: file.path, andPath: copy.path))

        let serverMemory = try #require(Self.memory(server.pid, "VmHWM"))
        print(
            """
            \(size >> 20) MiB uploaded with \(cuts) cuts and \(wasted >> 10) KiB of overhead, downloaded with \
            \(cuts) cuts and \(wastedDown >> 10) KiB of overhead; at most \(uploadMemory >> 10) MiB in the sender, \
            \(downloadMemory >> 10) MiB in the receiver, \(serverMemory >> 10) MiB in the server \
            (\(memoryBefore >> 10) before)
            """)
        #expect(serverMemory - memoryBefore < 48 << 10, "The server had the file in memory.")
        #expect(max(uploadMemory, downloadMemory) < 160 << 10, "A client had the file in memory.")
    }

    /// Returns the byte counts at which the line is cut, one in each part of the file.
    private static func places(_ count: Int, _ size: Int, _ generator: inout SplitMix64) -> [Int] {
        let part = size / count
        return (0..<count).map { $0 * part + Int.random(in: part / 8...part * 7 / 8, using: &generator) }
    }

    /// Returns a value from the kernel's status of the process, in KiB.
    private static func memory(_ pid: pid_t, _ name: String) -> Int? {
        let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = text?.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    }

    private static func fill(_ file: URL, _ size: Int, _ generator: inout SplitMix64) throws {
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        let block = (0..<(1 << 17)).map { _ in generator.next() }
        for number in 0..<size >> 20 {
            var piece = block.withUnsafeBytes { Data($0) }
            piece[0] = UInt8(truncatingIfNeeded: number)
            try handle.write(contentsOf: piece)
        }
        try handle.close()
    }
}
