import Foundation
import PictureFixtures
import ScrollbackPictures
import Testing

@Suite("Limits")
struct LimitTests {
    private func plain() throws -> PictureHeader { try PictureFile(PictureFixture.named("plain.jpg")).header }

    @Test("Fifty million pixels are allowed, and one more row is refused")
    func pixels() throws {
        var header = try plain()
        (header.width, header.height) = (10_000, 5_000)
        try PictureLimits().check(header)
        header.height += 1
        #expect(throws: PictureError.tooLarge(width: 10_000, height: 5_001)) { try PictureLimits().check(header) }
        try PictureLimits(pixels: 60_000_000).check(header)
    }

    @Test("A side of 30,000 pixels is refused regardless of the other side")
    func side() throws {
        var header = try plain()
        (header.width, header.height) = (29_999, 1)
        try PictureLimits().check(header)
        header.width = 30_000
        #expect(throws: PictureError.tooLarge(width: 30_000, height: 1)) { try PictureLimits().check(header) }
    }

    @Test("Sides whose product overflows are refused")
    func overflow() throws {
        var header = try plain()
        (header.width, header.height) = (.max, .max)
        let limits = PictureLimits(pixels: .max, side: .max)
        #expect(throws: PictureError.tooLarge(width: .max, height: .max)) { try limits.check(header) }
    }

    @Test("Fewer than 100 scans are allowed, and a bomb of 2,000 scans is refused")
    func scans() throws {
        let bomb = try ScanBomb.file(scans: 2_000)
        let header = try PictureFile(bomb).header
        #expect(header.scans > 2_000 && header.isComplete)
        #expect(throws: PictureError.tooManyScans(header.scans)) { try PictureLimits().check(header) }
        try PictureLimits().check(PictureFile(ScanBomb.file(scans: 80)).header)
    }

    @Test("A truncated picture is reported as corrupt")
    func truncatedPictureIsCorrupt() throws {
        let header = try PictureFile(PictureFixture.named("truncated.png")).header
        #expect(!header.isComplete)
        #expect(throws: PictureError.corrupt) { try PictureLimits().check(header) }
    }
}
