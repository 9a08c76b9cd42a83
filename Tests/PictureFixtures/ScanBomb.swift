package import Foundation

/// A progressive JPEG whose last scan is there again and again.
package enum ScanBomb {
    /// The fixture `progressive.jpg` with so many scans more.
    package static func file(scans: Int) throws -> Data {
        let file = try PictureFixture.named("progressive.jpg")
        guard let last = file.range(of: Data([0xFF, 0xDA]), options: .backwards) else { return file }
        let scan = file[last.lowerBound..<file.count - 2]
        var bomb = file.dropLast(2)
        for _ in 0..<scans { bomb.append(scan) }
        return bomb + Data([0xFF, 0xD9])
    }
}
