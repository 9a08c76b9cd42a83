import Foundation
import PictureFixtures
import ScrollbackPictures
import Testing

@Suite("Headers of picture files")
struct HeaderTests {
    /// Reads the header, checks the limits, and returns the verdict as the manifest names it.
    private func verdict(_ data: Data) -> (String, PictureHeader?) {
        var header: PictureHeader?
        do throws(PictureError) {
            let file = try PictureFile(data)
            header = file.header
            try PictureLimits().check(file.header)
            return ("ok", header)
        } catch {
            switch error {
            case .unknown, .unsupported: return ("unknown", header)
            case .tooLarge, .tooManyScans: return ("too large", header)
            default: return ("corrupt", header)
            }
        }
    }

    @Test(
        "The verdict and header of every fixture match the manifest",
        arguments: PictureFixture.all)
    func everyPicture(_ fixture: PictureFixture) throws {
        let (verdict, header) = verdict(try fixture.data)
        #expect(verdict == (fixture.by == "decoder" ? "ok" : fixture.verdict))
        if let width = fixture.width { #expect(header?.width == width) }
        if let height = fixture.height { #expect(header?.height == height) }
        guard fixture.verdict == "ok" else { return }
        #expect(header?.type.rawValue == fixture.type)
        #expect(header?.orientation == fixture.orientation)
        #expect(header?.frames == fixture.frames)
        #expect(header?.profile.count == fixture.icc ?? 0)
    }

    @Test("A slice of larger data is read like a separate file", arguments: PictureFixture.good)
    func slices(_ fixture: PictureFixture) throws {
        let data = try fixture.data
        let slice = (Data("before".utf8) + data + Data("after".utf8)).dropFirst(6).prefix(data.count)
        #expect(try PictureFile(slice).header == PictureFile(data).header)
        guard fixture.type != "gif" else { return }
        #expect(try PictureFile(slice).cleaned() == PictureFile(data).cleaned())
    }

    @Test("Orientations 5 to 8 swap width and height")
    func upright() throws {
        for (name, width, height) in [
            ("orientation-3.jpg", 64, 48), ("orientation-6.jpg", 64, 48), ("orientation-5.avif", 64, 48),
        ] {
            let upright = try PictureFile(PictureFixture.named(name)).header.upright
            #expect(upright == (width, height), "\(name)")
        }
    }

    @Test("The number of components distinguishes CMYK, grayscale and RGB pictures")
    func components() throws {
        for (name, count) in [("cmyk-adobe.jpg", 4), ("ycck-adobe.jpg", 4), ("grey.jpg", 1), ("plain.jpg", 3)] {
            #expect(try PictureFile(PictureFixture.named(name)).header.components == count, "\(name)")
        }
    }

    @Test("A color profile split into three segments is reassembled")
    func profileInParts() throws {
        let whole = try PictureFile(PictureFixture.named("p3.jpg")).header.profile
        #expect(try PictureFile(PictureFixture.named("p3-in-three-parts.jpg")).header.profile == whole)
        #expect(try PictureFile(PictureFixture.named("p3.png")).header.profile == whole)
        #expect(whole.range(of: Data("\0K\0E\0E\0P".utf8)) != nil)
    }

    @Test("Compatible brands distinguish AVIF from HEIC if the main brand names only the container")
    func brands() throws {
        var file = try PictureFixture.named("orientation-1.avif")
        file.replaceSubrange(8..<12, with: Data("mif1".utf8))
        #expect(try PictureFile(file).header.type == .avif)
        file = try PictureFixture.named("plain.heic")
        file.replaceSubrange(8..<12, with: Data("mif1".utf8))
        #expect(try PictureFile(file).header.type == .heic)
    }

    @Test("Every error has a distinct message")
    func errorsHaveDistinctMessages() {
        let errors: [PictureError] = [
            .unknown, .unsupported, .corrupt, .tooLarge(width: 1, height: 2), .tooManyScans(200), .animated,
            .noDecoder(.heic), .failed,
        ]
        #expect(Set(errors.map(\.message)).count == errors.count)
        #expect("\(PictureError.tooLarge(width: 30_000, height: 20))".contains("30000 x 20"))
        #expect(PictureType.jpeg.mediaType == "image/jpeg")
    }
}
