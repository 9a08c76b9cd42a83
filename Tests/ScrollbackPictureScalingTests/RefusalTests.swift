import Foundation
import PictureFixtures
import ScrollbackPictureScaling
import ScrollbackPictures
import Testing

@Suite("Refused pictures")
struct RefusalTests {
    private func refusal(_ file: Data, _ limits: PictureLimits = PictureLimits()) -> PictureError? {
        do throws(PictureError) {
            _ = try PictureScaler(limits: limits).messagePictures(file)
            return nil
        } catch {
            return error
        }
    }

    @Test("Every bad picture is refused with the error for its defect", arguments: PictureFixture.all)
    func badPicturesAreRefused(_ fixture: PictureFixture) throws {
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
        "Scaling refuses GIFs and animated pictures",
        arguments: ["still.gif", "animated.gif", "animated.png", "animated.webp"])
    func animatedPicturesAreRefused(_ name: String) throws {
        #expect(refusal(try PictureFixture.named(name)) == .animated)
    }

    #if os(Linux)
        @Test(
            "HEIC and AVIF pictures are refused on systems without a decoder",
            arguments: [("plain.heic", PictureType.heic), ("orientation-1.avif", .avif)])
        func noDecoder(_ name: String, _ type: PictureType) throws {
            #expect(refusal(try PictureFixture.named(name)) == .noDecoder(type))
        }
    #endif

    /// The processor time of this thread in seconds, which other work on the machine does not change.
    private var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test("Pictures above the limits are refused without decoding them")
    func bombs() throws {
        let start = processorSeconds
        let bomb = try ScanBomb.file(scans: 2_000)
        #expect(refusal(bomb) == .tooManyScans(try PictureFile(bomb).header.scans))
        for name in ["liar-30000.jpg", "bomb-30000-1bit.png", "bomb-16383.webp"] {
            _ = refusal(try PictureFixture.named(name))
        }
        // Decoding any of these files takes seconds and gigabytes.
        #expect(processorSeconds - start < 2)
    }

    @Test("The limits that the caller passes apply")
    func limits() throws {
        let file = try PictureFixture.named("photo-1600x1200.jpg")
        #expect(refusal(file, PictureLimits(pixels: 1600 * 1200 - 1)) == .tooLarge(width: 1600, height: 1200))
        #expect(refusal(file, PictureLimits(side: 1599)) == .tooLarge(width: 1600, height: 1200))
        #expect(refusal(file, PictureLimits(pixels: 1600 * 1200, side: 1600)) == nil)
    }

    @Test(
        "A randomly damaged picture is scaled or refused",
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
