import Foundation
import PictureFixtures
import ScrollbackPictures
import Testing

@Suite("Steps for reading a picture file")
struct StepTests {
    @Test("A file with millions of parts is refused within the limit of steps", arguments: PictureBomb.allCases)
    func bomb(_ bomb: PictureBomb) {
        let steps = PictureSteps()
        #expect(throws: PictureError.tooManyParts) { try PictureFile(bomb.file(bytes: 4 << 20), steps: steps) }
        #expect(steps.count > PictureSteps.standardLimit - 1000 && steps.count <= PictureSteps.standardLimit)
    }

    @Test("The steps grow in proportion to the file", arguments: PictureBomb.allCases)
    func proportion(_ bomb: PictureBomb) {
        func count(_ bytes: Int) -> Int {
            let steps = PictureSteps(limit: .max)
            _ = try? PictureFile(bomb.file(bytes: bytes), steps: steps)
            return steps.count
        }
        let (one, two) = (count(200_000), count(400_000))
        #expect(one > 10_000 && two > one)
        #expect(abs(two - 2 * one) < one / 10)
    }

    @Test("Pictures of cameras and programs take less than a tenth of the steps", arguments: PictureFixture.good)
    func fixtures(_ fixture: PictureFixture) throws {
        let steps = PictureSteps()
        _ = try PictureFile(fixture.data, steps: steps)
        #expect(steps.count > 0 && steps.count < PictureSteps.standardLimit / 10)
    }

    @Test("The limit is inclusive")
    func limit() throws {
        let data = try PictureFixture.named("plain.jpg")
        let steps = PictureSteps()
        _ = try PictureFile(data, steps: steps)
        _ = try PictureFile(data, steps: PictureSteps(limit: steps.count))
        #expect(throws: PictureError.tooManyParts) {
            try PictureFile(data, steps: PictureSteps(limit: steps.count - 1))
        }
    }

    @Test("Only the first color profile of a WebP file is copied, and none above a mebibyte")
    func webPProfiles() throws {
        func file(_ profiles: [Int]) -> Data {
            var chunks = Data("VP8X".utf8) + Data([10, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            for (index, size) in profiles.enumerated() {
                let length = withUnsafeBytes(of: UInt32(size).littleEndian) { Data($0) }
                chunks += Data("ICCP".utf8) + length + Data(repeating: UInt8(index + 1), count: size)
            }
            chunks += Data("VP8L".utf8) + Data([6, 0, 0, 0, 0x2F, 0, 0, 0, 0, 0])
            let length = withUnsafeBytes(of: UInt32(chunks.count + 4).littleEndian) { Data($0) }
            return Data("RIFF".utf8) + length + Data("WEBP".utf8) + chunks
        }
        #expect(try PictureFile(file([4, 8])).header.profile == Data([1, 1, 1, 1]))
        #expect(try PictureFile(file([(1 << 20) + 2, 4])).header.profile.isEmpty)
    }
}
