import Foundation
import PictureFixtures
import ScrollbackPictures
import Testing

/// Reading and cleaning return or throw for any bytes. A crash or an endless loop fails the run.
@Suite("Damaged files")
struct DamageTests {
    /// The number of random damages for each small file. Set the environment variable `PICTURE_DAMAGE` for more.
    private static let rounds = ProcessInfo.processInfo.environment["PICTURE_DAMAGE"].flatMap { Int($0) } ?? 2_000

    /// Checks that the file keeps its header and is clean after cleaning, unless reading or cleaning throws.
    private func check(_ data: Data) throws {
        guard let file = try? PictureFile(data), let cleaned = try? file.cleaned() else { return }
        let again = try PictureFile(cleaned)
        #expect(again.header == file.header)
        #expect(try again.cleaned() == cleaned)
    }

    @Test("A file truncated at any length is cleaned correctly or refused", arguments: PictureFixture.all)
    func truncatedFileIsCleanedOrRefused(_ fixture: PictureFixture) throws {
        let data = try fixture.data
        guard data.count < 2_500 else { return }
        for length in 0..<data.count { try check(data.prefix(length)) }
    }

    @Test("A randomly damaged file is cleaned correctly or refused", arguments: PictureFixture.all)
    func damaged(_ fixture: PictureFixture) throws {
        let data = try fixture.data
        var damage = Damage(seed: UInt64(data.count))
        for _ in 0..<(data.count < 2_500 ? Self.rounds : Self.rounds / 10) { try check(damage.damaged(data)) }
    }

    /// Returns the fixture `private-6.heic` with another item location table. Item 3 is its Exif data.
    private func heic(sizes: UInt16, _ items: [(id: UInt16, extents: UInt16, places: [UInt32])]) throws -> Data {
        func bytes(_ number: some FixedWidthInteger) -> Data { withUnsafeBytes(of: number.bigEndian) { Data($0) } }
        var places = Data("iloc".utf8) + [1, 0, 0, 0] + bytes(sizes) + bytes(UInt16(items.count))
        for item in items {
            places += bytes(item.id) + Data(count: 4) + bytes(item.extents)
            for place in item.places { places += bytes(place) }
        }
        var file = try PictureFixture.named("private-6.heic")
        file.replaceSubrange(103..<199, with: bytes(UInt32(places.count + 4)) + places)
        file.replaceSubrange(28..<32, with: bytes(UInt32(557 - 96 + 4 + places.count)))
        return file
    }

    @Test("A HEIC file with a billion empty extents is refused without visiting each of them")
    func emptyExtentsAreRefused() throws {
        let file = try heic(sizes: 0, (0..<20_000).map { ($0, .max, []) })
        #expect(throws: PictureError.unsupported) { try PictureFile(file) }
    }

    @Test("A HEIC file whose metadata extents are together longer than the file is refused")
    func overlappingExtentsAreRefused() throws {
        #expect(try PictureFile(heic(sizes: 0x4400, [(3, 1, [600, 100])])).header.width == 48)
        let file = try heic(sizes: 0x4400, [(3, 3, [0, 600, 0, 600, 0, 600])])
        #expect(throws: PictureError.unsupported) { try PictureFile(file) }
    }

    @Test("Cleaning refuses metadata extents that overlap the HEIC meta box")
    func extentsInTheMetaBoxAreRefused() throws {
        let file = try PictureFile(heic(sizes: 0x4400, [(3, 1, [28, 200])]))
        #expect(throws: PictureError.self) { try file.cleaned() }
    }

    @Test("A WebP picture that is larger than its canvas is reported as incomplete")
    func canvas() throws {
        var file = try PictureFixture.named("alpha-lossy.webp")
        file[24] -= 1
        #expect(try !PictureFile(file).header.isComplete)
    }

    @Test("A decompression bomb in a color profile is abandoned, and only the first profile is read")
    func profileBomb() throws {
        // The file has a hundred profiles. Each of them is the compressed pixel data of the bomb.
        let bomb = try PictureFixture.named("bomb-30000-1bit.png")
        let pixels = try #require(bomb.range(of: Data("IDAT".utf8)))
        let packed = bomb[pixels.upperBound..<bomb.count - 16]
        var file = try PictureFixture.named("plain.png")
        let body = Data("bomb\0\0".utf8) + packed
        let length = withUnsafeBytes(of: UInt32(body.count).bigEndian) { Data($0) }
        let chunk = length + Data("iCCP".utf8) + body + Data(count: 4)
        for _ in 0..<100 { file.insert(contentsOf: chunk, at: 33) }
        let start = ContinuousClock.now
        let header = try PictureFile(file).header
        #expect(header.isComplete && header.profile.isEmpty)
        #expect(ContinuousClock.now - start < .seconds(5))
    }
}
