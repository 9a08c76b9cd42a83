package import Foundation

/// A progressive JPEG that repeats its last scan many times.
package enum ScanBomb {
    /// Returns the fixture `progressive.jpg` with `scans` additional scans.
    package static func file(scans: Int) throws -> Data {
        let file = try PictureFixture.named("progressive.jpg")
        guard let last = file.range(of: Data([0xFF, 0xDA]), options: .backwards) else { return file }
        let scan = file[last.lowerBound..<file.count - 2]
        var bomb = file.dropLast(2)
        for _ in 0..<scans { bomb.append(scan) }
        return bomb + Data([0xFF, 0xD9])
    }
}
