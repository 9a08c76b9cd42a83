package import Foundation

extension Data {
    /// Returns this cleaned JPEG file with a color profile, if the profile is useful and small.
    ///
    /// Profiles of displays and cameras have about 600 bytes; those of printing presses have a megabyte.
    package func jpeg(with profile: Data) -> Data {
        guard profile.count <= 16_384, ColorProfile.isUseful(Bytes(profile)) else { return self }
        return JPEG.file(self, with: profile)
    }
}

/// The properties of an ICC profile (ICC.1, 7.2 and 7.3).
enum ColorProfile {
    /// The maximum size of a profile in bytes; larger ones are omitted.
    static let maximumBytes = 1 << 20

    /// Returns whether the profile is an RGB profile other than sRGB, which is the default.
    static func isUseful(_ profile: Bytes) -> Bool {
        guard (try? profile.number(at: 0, bytes: 4)) == profile.count, profile.matches("RGB ".utf8, at: 16) else {
            return false
        }
        return !((try? name(of: profile)) ?? "").contains("sRGB")
    }

    /// Returns the description tag of the profile, including surrounding bytes.
    private static func name(of profile: Bytes) throws(PictureError) -> String {
        for index in 0..<min(try profile.number(at: 128, bytes: 4), 100) {
            let entry = 132 + 12 * index
            guard try profile.code(at: entry) == "desc" else { continue }
            let offset = try profile.number(at: entry + 4, bytes: 4)
            let text = try profile.part(at: offset, count: try profile.number(at: entry + 8, bytes: 4)).copy
            // Version 4 profiles use two bytes per letter, and the first is zero.
            return String(decoding: text.filter { $0 != 0 }, as: UTF8.self)
        }
        return ""
    }
}
