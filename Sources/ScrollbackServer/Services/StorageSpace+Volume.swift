import Foundation
import ScrollbackEngine

extension StorageSpace {
    /// Checks the volume of a directory.
    ///
    /// - Parameter floor: The number of bytes that must stay free, or `nil` for the standard number.
    convenience init(volumeOf directory: URL, floor: Int64?) {
        let path = directory.path
        self.init(floor: floor ?? Self.standardFloor(ofVolume: Self.volume(path)?.size ?? 0)) {
            Self.volume(path)?.free
        }
    }

    /// Returns the size and the free space of a volume in bytes, without the space that only root may use.
    private static func volume(_ path: String) -> (size: Int64, free: Int64)? {
        var facts = statvfs()
        guard statvfs(path, &facts) == 0 else { return nil }
        let unit = Int64(facts.f_frsize)
        return (Int64(clamping: facts.f_blocks) * unit, Int64(clamping: facts.f_bavail) * unit)
    }
}
