import Foundation
import PictureFixtures
import ScrollbackPictures
import Testing

@Suite("Cleaning picture files")
struct CleaningTests {
    private static let secret = Data("SECRET".utf8)

    @Test(
        "Cleaning removes all private data, keeps the header and is idempotent",
        arguments: PictureFixture.good.filter { $0.type != "gif" })
    func everyPicture(_ fixture: PictureFixture) throws {
        let data = try fixture.data
        let file = try PictureFile(data)
        let cleaned = try file.cleaned()
        if fixture.isPrivate == true { #expect(data.range(of: Self.secret) != nil, "The fixture has no secret.") }
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
        "Cleaning a picture without metadata changes no byte",
        arguments: [
            "plain.jpg", "progressive.jpg", "p3.jpg", "cmyk-adobe.jpg", "plain.png", "animated.png",
            "palette-alpha.png",
            "lossy.webp", "alpha-lossy.webp", "animated.webp",
        ])
    func unchanged(_ name: String) throws {
        let data = try PictureFixture.named(name)
        #expect(try PictureFile(data).cleaned() == data)
    }

    @Test("Cleaning a GIF throws an error because GIFs are sent unchanged", arguments: ["still.gif", "animated.gif"])
    func gif(_ name: String) throws {
        let file = try PictureFile(PictureFixture.named(name))
        #expect(throws: PictureError.animated) { try file.cleaned() }
    }

    @Test("Cleaning a corrupt picture fails", arguments: PictureFixture.all.filter { $0.verdict == "corrupt" })
    func corruptPictureFails(_ fixture: PictureFixture) throws {
        guard fixture.by != "decoder" else { return }
        let data = try fixture.data
        #expect(throws: PictureError.corrupt) { try PictureFile(data).cleaned() }
    }

    @Test("Cleaning removes the preview pixels in a JFIF segment")
    func preview() throws {
        var file = try PictureFixture.named("plain.jpg")
        // The preview has one pixel of three bytes.
        file.replaceSubrange(4..<6, with: [0, 19])
        file.replaceSubrange(18..<20, with: [1, 1] + Data("SEC".utf8))
        let cleaned = try PictureFile(file).cleaned()
        #expect(try cleaned == PictureFixture.named("plain.jpg"))
    }

    @Test("Cleaning removes a color profile that can't be read")
    func brokenProfile() throws {
        var file = try PictureFixture.named("p3.png")
        let chunk = try #require(file.range(of: Data("iCCP".utf8)))
        file.replaceSubrange(chunk.upperBound + 4..<chunk.upperBound + 10, with: Self.secret)
        let picture = try PictureFile(file)
        #expect(picture.header.profile.isEmpty && picture.header.isComplete)
        #expect(try picture.cleaned().range(of: Self.secret) == nil)
    }

    @Test("Cleaning blanks a video that a phone appended to a HEIC picture")
    func videoInHEICIsBlanked() throws {
        let plain = try PictureFixture.named("plain.heic")
        let file = plain + Data([0, 0, 0, 14]) + Data("mpvdSECRET".utf8)
        let cleaned = try PictureFile(file).cleaned()
        #expect(cleaned.count == file.count && cleaned.prefix(plain.count) == plain)
        #expect(cleaned.range(of: Self.secret) == nil)
        #expect(try PictureFile(plain + Data("SECRET".utf8)).cleaned() == plain)
    }

    @Test("A HEIF image sequence can't be cleaned because it has a second set of metadata")
    func sequence() throws {
        let file = try PictureFile(PictureFixture.named("plain.heic") + Data([0, 0, 0, 8]) + Data("moov".utf8))
        #expect(file.header.frames == 2)
        #expect(throws: PictureError.unsupported) { try file.cleaned() }
    }

    @Test("Cleaning removes data after a WebP picture, inside and outside of its declared length")
    func dataAfterWebPIsRemoved() throws {
        let plain = try PictureFixture.named("lossy.webp")
        var inside = plain + Data("JUNK".utf8) + Data([6, 0, 0, 0]) + Self.secret
        inside[4] = UInt8(inside.count - 8)
        #expect(try PictureFile(inside).cleaned() == plain)
        #expect(try PictureFile(plain + Self.secret).cleaned() == plain)
    }

    @Test("A cleaned PNG stores its orientation in a chunk with a valid checksum")
    func orientationOfPNG() throws {
        let cleaned = try PictureFile(PictureFixture.named("orientation-6.png")).cleaned()
        let chunk = try #require(cleaned.range(of: Data("eXIf".utf8)))
        #expect(cleaned[chunk.upperBound + 26..<chunk.upperBound + 30] == Data([0xD6, 0x67, 0x4B, 0x69]))
    }

    @Test("A cleaned WebP has the Exif flag only if Exif stores its orientation")
    func cleanedWebPHasTheRightFlags() throws {
        var file = try PictureFixture.named("orientation-6.webp")
        #expect(try PictureFile(file).cleaned()[20] == 0x28)
        let orientation = try #require(file.range(of: Data([0x12, 1, 3, 0, 1, 0, 0, 0, 6])))
        file[orientation.upperBound - 1] = 1
        #expect(try PictureFile(file).cleaned()[20] == 0x20)
    }
}
