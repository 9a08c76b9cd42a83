import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

@Suite("Local files")
struct LocalFilesTests {
    private func withFolder(_ body: (LocalFiles, URL) throws -> Void) throws {
        let folder = try TemporaryFolder()
        try body(LocalFiles(directory: folder.url.appending(path: "files")), folder.url)
    }

    private func isThere(_ file: URL) -> Bool { FileManager.default.fileExists(atPath: file.path) }

    private func expect(_ code: ChatError.Code, _ body: () throws -> Void) {
        #expect(performing: body, throws: { ($0 as? ChatError)?.code == code })
    }

    @Test("A stored file is not evicted while its caller holds it")
    func pinned() throws {
        try withFolder { files, folder in
            let data = Data("file".utf8)
            let copy = folder.appending(path: "copy.txt")
            try data.write(to: copy)
            let place = files.url(of: LocalFiles.hash(of: data))
            let first = try files.store(data)
            let second = try files.store(contentsOf: copy, atMost: 10)
            withExtendedLifetime((first, second)) { files.remove(first.hash) }
            #expect(isThere(place))
            try files.append(data, toPartial: "key", at: 0)
            let fetched = try files.keep(partial: "key", expecting: first.hash)
            withExtendedLifetime(fetched) { files.remove(fetched.hash) }
            #expect(isThere(place))
        }
        try withFolder { files, _ in
            let hash = try files.store(Data("file".utf8)).hash
            files.remove(hash)
            #expect(!isThere(files.url(of: hash)))
        }
    }

    @Test("A file that a power failure left empty is written again")
    func emptyFileIsWrittenAgain() throws {
        try withFolder { files, folder in
            let data = Data("file".utf8)
            let place = files.url(of: LocalFiles.hash(of: data))
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: place)
            _ = try files.store(data)
            #expect(try Data(contentsOf: place) == data)
            try Data().write(to: place)
            let copy = folder.appending(path: "copy.txt")
            try data.write(to: copy)
            _ = try files.store(contentsOf: copy, atMost: 10)
            #expect(try Data(contentsOf: place) == data)
        }
    }

    @Test("A copy that can't be stored leaves nothing behind")
    func failedCopyLeavesNothing() throws {
        try withFolder { files, _ in
            let data = Data("file".utf8)
            // A file is in the place of the folder.
            let folder = files.url(of: LocalFiles.hash(of: data)).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: files.directory, withIntermediateDirectories: true)
            try Data().write(to: folder)
            expect(.localStorage) { _ = try files.store(data) }
            let partials = files.directory.appending(path: "partial").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: partials).isEmpty)
        }
    }

    @Test("A folder is not accepted as a file, and a symbolic link has the size of its target")
    func sources() throws {
        try withFolder { files, folder in
            expect(.invalidParameter) { _ = try files.store(contentsOf: folder, atMost: 10) }
            expect(.invalidParameter) { _ = try LocalFiles.bytes(of: folder, atMost: 10) }
            let (large, link) = (folder.appending(path: "large"), folder.appending(path: "link"))
            try Data(count: 11).write(to: large)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: large)
            expect(.mediaTooLarge) { _ = try files.store(contentsOf: link, atMost: 10) }
            expect(.mediaTooLarge) { _ = try LocalFiles.bytes(of: link, atMost: 10) }
            #expect(try LocalFiles.bytes(of: link, atMost: 11).count == 11)
            #expect(try LocalFiles.bytes(of: link, atMost: .max).count == 11)
        }
    }

    @Test("A piece of a partial file can overlap the bytes before it but can't leave a gap")
    func pieceCannotLeaveAGap() throws {
        try withFolder { files, _ in
            try files.append(Data([1, 2, 3]), toPartial: "key", at: 0)
            expect(.malformed) { try files.append(Data([5]), toPartial: "key", at: 4) }
            try files.append(Data([3, 4]), toPartial: "key", at: 2)
            #expect(try Data(contentsOf: files.partial("key")) == Data([1, 2, 3, 4]))
        }
    }

    @Test("A name that is too long is shortened before its extension")
    func names() {
        #expect(Media.shortened("tides.txt") == "tides.txt")
        #expect(
            Media.shortened(String(repeating: "é", count: 200) + ".txt") == String(repeating: "é", count: 125) + ".txt")
        let family = "👨‍👩‍👧‍👦"
        let flock = Media.shortened(String(repeating: family, count: 50))
        #expect(flock == String(repeating: family, count: 255 / family.utf8.count))
        #expect(Media.shortened("." + String(repeating: "x", count: 300)).utf8.count == 255)
        #expect(Media.shortened("a." + String(repeating: "x", count: 300)).utf8.count == 255)
    }
}
