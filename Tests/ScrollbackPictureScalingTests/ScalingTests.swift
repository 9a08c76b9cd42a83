import Foundation
import PictureFixtures
import ScrollbackPictureScaling
import ScrollbackPictures
import Testing

@Suite("Scaling")
struct ScalingTests {
    private let scaler = PictureScaler()

    /// The fixtures that can be scaled on every platform.
    private static let still = PictureFixture.good.filter {
        $0.frames == 1 && ["jpeg", "png", "webp"].contains($0.type)
    }

    @Test("A copy is an upright JPEG of the right size without metadata", arguments: still)
    func everyPicture(_ fixture: PictureFixture) throws {
        let data = try fixture.data
        let upright = try PictureFile(data).header.upright
        for longestSide in [5_000, 240, 30, 1] {
            let picture = try scaler.scaled(data, longestSide: longestSide, quality: 0.5)
            let header = try PictureFile(picture.jpeg).header
            #expect(header.type == .jpeg && header.orientation == 1 && header.isComplete)
            #expect(header.width == picture.width && header.height == picture.height)
            #expect(max(picture.width, picture.height) == min(longestSide, max(upright.width, upright.height)))
            // Rounding changes a side by at most half a pixel, and no side becomes zero.
            let shorter = picture.width * upright.height - picture.height * upright.width
            #expect(abs(shorter) * 2 <= max(upright.width, upright.height) || min(picture.width, picture.height) == 1)
            #expect(picture.jpeg.range(of: Data("SECRET".utf8)) == nil)
            #expect(picture.jpeg.range(of: Data("CREATOR".utf8)) == nil)
            #expect(try PictureFile(picture.jpeg).cleaned() == picture.jpeg)
        }
    }

    @Test(
        "Message pictures are limited to 1080 pixels and thumbnails to 240, and smaller pictures keep their size",
        arguments: [
            ("photo-1600x1200.jpg", [1080, 810, 240, 180]), ("panorama-2000x20.jpg", [1080, 11, 240, 2]),
            ("zone-600x450.jpg", [600, 450, 240, 180]), ("plain.png", [64, 48, 64, 48]),
            ("one-pixel.jpg", [1, 1, 1, 1]),
        ])
    func messagePictures(_ name: String, _ sizes: [Int]) throws {
        let data = try PictureFixture.named(name)
        let pictures = try scaler.messagePictures(data)
        let (picture, thumbnail) = (pictures.picture, pictures.thumbnail)
        #expect([picture.width, picture.height, thumbnail.width, thumbnail.height] == sizes)
        #expect(picture == (try scaler.scaled(data, longestSide: 1080, quality: 0.85)))
        #expect(thumbnail.jpeg.count <= 10_000)
    }

    @Test("A lower quality gives a smaller file, and NaN counts as the lowest quality")
    func quality() throws {
        let data = try PictureFixture.named("zone-600x450.jpg")
        func count(_ quality: Double) throws -> Int {
            try scaler.scaled(data, longestSide: 300, quality: quality).jpeg.count
        }
        #expect(try count(0.3) < count(0.85) && count(0.85) < count(1))
        #expect(try count(.nan) == count(0) && count(-1) == count(0) && count(7) == count(1))
    }

    @Test("A longest side of zero or less gives a picture of one pixel", arguments: [0, -5, Int.min])
    func noSide(_ longestSide: Int) throws {
        let picture = try scaler.scaled(PictureFixture.named("plain.png"), longestSide: longestSide, quality: 1)
        #expect(picture.width == 1 && picture.height == 1)
    }

    @Test("A copy keeps its RGB color profile, and a grayscale profile is dropped")
    func profiles() throws {
        for name in ["p3.jpg", "p3.png", "adobe-rgb.jpg", "swapped-profile.jpg", "orientation-6.webp", "private.jpg"] {
            let data = try PictureFixture.named(name)
            let copy = try scaler.scaled(data, longestSide: 32, quality: 0.85).jpeg
            #expect(try PictureFile(copy).header.profile == PictureFile(data).header.profile, "\(name)")
        }
        let grey = try scaler.scaled(PictureFixture.named("grey-profile.jpg"), longestSide: 32, quality: 0.85)
        #expect(try PictureFile(grey.jpeg).header.profile.isEmpty)
    }

    @Test("An sRGB profile, a profile over 16 KB and a profile with a wrong length are dropped")
    func droppedProfiles() throws {
        let plain = try PictureFile(PictureFixture.named("plain.jpg")).cleaned()
        let profile = try PictureFile(PictureFixture.named("p3.jpg")).header.profile
        #expect(plain.jpeg(with: profile).count == plain.count + profile.count + 18)
        var standard = profile
        let name = try #require(standard.range(of: Data("\0K\0E\0E\0P".utf8)))
        standard.replaceSubrange(name, with: Data("\0s\0R\0G\0B".utf8))
        #expect(plain.jpeg(with: standard) == plain)
        #expect(plain.jpeg(with: profile + [0]) == plain)
        var long = profile + Data(count: 20_000 - profile.count)
        long.replaceSubrange(0..<4, with: [0, 0, 0x4E, 0x20])
        #expect(plain.jpeg(with: long) == plain)
        #expect(plain.jpeg(with: Data()) == plain)
    }

    @Test("Scaling many pictures concurrently gives the same results as scaling them one by one")
    func threads() async throws {
        let files = try PictureFixture.all.filter { $0.verdict != "too large" }.map { try $0.data }
            .filter { $0.count < 30_000 }
        let scaler = scaler
        @Sendable func outcome(_ file: Data) -> Result<MessagePictures, PictureError> {
            do throws(PictureError) {
                return .success(try scaler.messagePictures(file))
            } catch {
                return .failure(error)
            }
        }
        let expected = files.map(outcome)
        await withTaskGroup { group in
            for round in 0..<8 {
                group.addTask {
                    for index in files.indices {
                        let index = (index + round * 11) % files.count
                        #expect(outcome(files[index]) == expected[index])
                    }
                }
            }
        }
    }
}
