import Foundation
import PictureFixtures
import ScrollbackPictureScaling
import ScrollbackPictures
import Testing

@Suite("What is not scaled")
struct RefusalTests {
    private func refusal(_ file: Data, _ limits: PictureLimits = PictureLimits()) -> PictureError? {
        do throws(PictureError) {
            _ = try PictureScaler(limits: limits).messagePictures(file)
            return nil
        } catch {
            return error
        }
    }

    @Test("Every bad picture is refused for what is wrong with it", arguments: PictureFixture.all)
    func bad(_ fixture: PictureFixture) throws {
        let refusal = refusal(try fixture.data)
        switch fixture.verdict {
        case "corrupt": #expect(refusal == .corrupt)
        case "unknown": #expect(refusal == .unknown)
        case "too large":
            let size = (try #require(fixture.width), try #require(fixture.height))
            #expect(refusal == .tooLarge(width: size.0, height: size.1))
        default: #expect(refusal != .corrupt && refusal != .unknown && refusal != .failed)
        }
    }

    @Test(
        "GIFs and moving pictures are sent as they are",
        arguments: ["still.gif", "animated.gif", "animated.png", "animated.webp"])
    func moving(_ name: String) throws {
        #expect(refusal(try PictureFixture.named(name)) == .moving)
    }

    #if os(Linux)
        @Test(
            "HEIC and AVIF are refused where nothing decodes them",
            arguments: [("plain.heic", PictureType.heic), ("orientation-1.avif", .avif)])
        func noDecoder(_ name: String, _ type: PictureType) throws {
            #expect(refusal(try PictureFixture.named(name)) == .noDecoder(type))
        }
    #endif

    @Test("Nothing is decoded that is above the limits: a bomb is refused as fast as it is read")
    func bombs() throws {
        let start = ContinuousClock.now
        let bomb = try ScanBomb.file(scans: 2_000)
        #expect(refusal(bomb) == .tooManyScans(try PictureFile(bomb).header.scans))
        for name in ["liar-30000.jpg", "bomb-30000-1bit.png", "bomb-16383.webp"] {
            _ = refusal(try PictureFixture.named(name))
        }
        // Decoding any of them takes seconds and gigabytes.
        #expect(ContinuousClock.now - start < .seconds(2))
    }

    @Test("Limits are the caller's to choose")
    func limits() throws {
        let file = try PictureFixture.named("photo-1600x1200.jpg")
        #expect(refusal(file, PictureLimits(pixels: 1600 * 1200 - 1)) == .tooLarge(width: 1600, height: 1200))
        #expect(refusal(file, PictureLimits(side: 1599)) == .tooLarge(width: 1600, height: 1200))
        #expect(refusal(file, PictureLimits(pixels: 1600 * 1200, side: 1600)) == nil)
    }

    @Test(
        "Damaged at random, a picture is scaled or refused",
        arguments: PictureFixture.good.filter { !($0.name.hasSuffix("heic") || $0.name.hasSuffix("avif")) })
    func damaged(_ fixture: PictureFixture) throws {
        let data = try fixture.data
        guard data.count < 2_500 else { return }
        var damage = Damage(seed: UInt64(data.count))
        let scaler = PictureScaler(limits: PictureLimits(pixels: 200_000))
        for _ in 0..<100 {
            guard let picture = try? scaler.scaled(damage.damaged(data), longestSide: 32, quality: 0.5) else {
                continue
            }
            #expect(try PictureFile(picture.jpeg).header.isComplete)
        }
    }
}
