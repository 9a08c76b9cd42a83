package import Foundation

extension Data {
    /// This cleaned JPEG file with the colour profile of the picture that it was made from, where that makes a
    /// difference and fits: profiles of displays and cameras have about 600 bytes, those of presses a megabyte.
    package func jpeg(with profile: Data) -> Data {
        guard profile.count <= 16_384, ColourProfile.isUseful(Bytes(profile)) else { return self }
        return JPEG.file(self, with: profile)
    }
}

/// What an ICC profile says of itself (ICC.1, 7.2 and 7.3).
enum ColourProfile {
    /// Larger ones are left out.
    static let mostBytes = 1 << 20

    /// Whether it is one for red, green and blue other than sRGB, which everybody assumes.
    static func isUseful(_ profile: Bytes) -> Bool {
        guard (try? profile.number(at: 0, bytes: 4)) == profile.count, profile.has("RGB ".utf8, at: 16) else {
            return false
        }
        return !((try? name(of: profile)) ?? "").contains("sRGB")
    }

    /// Its description, with whatever stands around it.
    private static func name(of profile: Bytes) throws(PictureError) -> String {
        for index in 0..<min(try profile.number(at: 128, bytes: 4), 100) {
            let entry = 132 + 12 * index
            guard try profile.code(at: entry) == "desc" else { continue }
            let place = try profile.number(at: entry + 4, bytes: 4)
            let text = try profile.part(at: place, count: try profile.number(at: entry + 8, bytes: 4)).copy
            // Of two bytes a letter in version 4, the first is zero.
            return String(decoding: text.filter { $0 != 0 }, as: UTF8.self)
        }
        return ""
    }
}
