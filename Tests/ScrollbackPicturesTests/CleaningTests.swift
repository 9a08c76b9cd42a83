import Foundation
import PictureFixtures
import ScrollbackPictures
import Testing

@Suite("Cleaning picture files")
struct CleaningTests {
    private static let secret = Data("SECRET".utf8)

    @Test(
        "Nothing private is left, the header is the same, and cleaning twice changes nothing",
        arguments: PictureFixture.good.filter { $0.type != "gif" })
    func everyPicture(_ fixture: PictureFixture) throws {
        let data = try fixture.data
        let file = try PictureFile(data)
        let cleaned = try file.cleaned()
        if fixture.isPrivate == true { #expect(data.range(of: Self.secret) != nil, "the fixture has no secret") }
        #expect(cleaned.range(of: Self.secret) == nil)
        #expect(cleaned.count <= data.count)
        let again = try PictureFile(cleaned)
        #expect(again.header == file.header)
        #expect(try again.cleaned() == cleaned)
        if let length = fixture.cleanedLength { #expect(cleaned.count == length) }
        if file.header.type != .heic, file.header.type != .avif {
            #expect(cleaned.range(of: Data("xmpmeta".utf8)) == nil)
        }
    }

    @Test(
        "A picture without metadata stays as it is, byte for byte",
        arguments: [
            "plain.jpg", "progressive.jpg", "p3.jpg", "cmyk-adobe.jpg", "plain.png", "animated.png",
            "palette-alpha.png",
            "lossy.webp", "alpha-lossy.webp", "animated.webp",
        ])
    func unchanged(_ name: String) throws {
        let data = try PictureFixture.named(name)
        #expect(try PictureFile(data).cleaned() == data)
    }

    @Test("A GIF is sent as it is, and so not cleaned", arguments: ["still.gif", "animated.gif"])
    func gif(_ name: String) throws {
        let file = try PictureFile(PictureFixture.named(name))
        #expect(throws: PictureError.moving) { try file.cleaned() }
    }

    @Test("What is cut off is not cleaned", arguments: PictureFixture.all.filter { $0.verdict == "corrupt" })
    func cutOff(_ fixture: PictureFixture) throws {
        guard fixture.by != "decoder" else { return }
        let data = try fixture.data
        #expect(throws: PictureError.corrupt) { try PictureFile(data).cleaned() }
    }

    @Test("The pixels of a preview in a JFIF segment are cut off")
    func preview() throws {
        var file = try PictureFixture.named("plain.jpg")
        // One pixel of three bytes.
        file.replaceSubrange(4..<6, with: [0, 19])
        file.replaceSubrange(18..<20, with: [1, 1] + Data("SEC".utf8))
        let cleaned = try PictureFile(file).cleaned()
        #expect(try cleaned == PictureFixture.named("plain.jpg"))
    }

    @Test("A profile that can't be read is no place to hide something")
    func brokenProfile() throws {
        var file = try PictureFixture.named("p3.png")
        let chunk = try #require(file.range(of: Data("iCCP".utf8)))
        file.replaceSubrange(chunk.upperBound + 4..<chunk.upperBound + 10, with: Self.secret)
        let picture = try PictureFile(file)
        #expect(picture.header.profile.isEmpty && picture.header.isComplete)
        #expect(try picture.cleaned().range(of: Self.secret) == nil)
    }

    @Test("A film that a phone puts behind a HEIC picture is blanked")
    func filmInHEIC() throws {
        let plain = try PictureFixture.named("plain.heic")
        let file = plain + Data([0, 0, 0, 14]) + Data("mpvdSECRET".utf8)
        let cleaned = try PictureFile(file).cleaned()
        #expect(cleaned.count == file.count && cleaned.prefix(plain.count) == plain)
        #expect(cleaned.range(of: Self.secret) == nil)
        #expect(try PictureFile(plain + Data("SECRET".utf8)).cleaned() == plain)
    }

    @Test("A moving HEIF file keeps a second set of metadata, so it is not said to be clean")
    func sequence() throws {
        let file = try PictureFile(PictureFixture.named("plain.heic") + Data([0, 0, 0, 8]) + Data("moov".utf8))
        #expect(file.header.frames == 2)
        #expect(throws: PictureError.unsupported) { try file.cleaned() }
    }

    @Test("Data that follows a WebP picture, inside its length or behind it, is dropped")
    func behindWebP() throws {
        let plain = try PictureFixture.named("lossy.webp")
        var inside = plain + Data("JUNK".utf8) + Data([6, 0, 0, 0]) + Self.secret
        inside[4] = UInt8(inside.count - 8)
        #expect(try PictureFile(inside).cleaned() == plain)
        #expect(try PictureFile(plain + Self.secret).cleaned() == plain)
    }

    @Test("A cleaned PNG says its orientation in a chunk whose checksum is right")
    func orientationOfPNG() throws {
        let cleaned = try PictureFile(PictureFixture.named("orientation-6.png")).cleaned()
        let chunk = try #require(cleaned.range(of: Data("eXIf".utf8)))
        #expect(cleaned[chunk.upperBound + 26..<chunk.upperBound + 30] == Data([0xD6, 0x67, 0x4B, 0x69]))
    }

    @Test("A cleaned WebP says that it has Exif only where that holds the orientation")
    func flagsOfWebP() throws {
        var file = try PictureFixture.named("orientation-6.webp")
        #expect(try PictureFile(file).cleaned()[20] == 0x28)
        let orientation = try #require(file.range(of: Data([0x12, 1, 3, 0, 1, 0, 0, 0, 6])))
        file[orientation.upperBound - 1] = 1
        #expect(try PictureFile(file).cleaned()[20] == 0x20)
    }
}
