/// The reason why a file is rejected as an image, or can't be scaled.
package enum PictureError: Error, Hashable, Sendable {
    /// The file is not an image of a known type.
    case unknown
    /// A rare variant of a known type, which few programs support.
    case unsupported
    /// The file is damaged or truncated.
    case corrupt
    /// The declared size exceeds the limits.
    case tooLarge(width: Int, height: Int)
    /// The JPEG has too many scans, which would keep decoders busy.
    case tooManyScans(Int)
    /// The file consists of so many parts that reading them would keep the server busy.
    case tooManyParts
    /// The image is a GIF or animated: it must be sent unchanged, because scaling would stop it.
    case animated
    /// This system has no decoder for the type: the image must be sent as a file.
    case noDecoder(PictureType)
    /// Memory was insufficient, or the system's encoder failed.
    case failed
}

extension PictureError {
    /// Returns the error if the file must be rejected, and `nil` if it may only be incomplete.
    var unlessIncomplete: PictureError? { self == .tooManyParts ? self : nil }
}

extension PictureError: CustomStringConvertible {
    /// A readable description of the error.
    package var message: String {
        switch self {
        case .unknown: "The file is not a JPEG, PNG, GIF, WebP, HEIC or AVIF image."
        case .unsupported: "The file is an unsupported variant of its image type."
        case .corrupt: "The image is damaged or truncated."
        case .tooLarge(let width, let height): "The image is too large: \(width) x \(height) pixels."
        case .tooManyScans(let scans): "The JPEG image has too many scans (\(scans))."
        case .tooManyParts: "The image has too many parts. Save it again with another program, or send it as a file."
        case .animated: "GIFs and animated images can't be scaled."
        case .noDecoder(let type): "\(type.rawValue.uppercased()) images can't be scaled on this system."
        case .failed: "The image could not be scaled."
        }
    }

    package var description: String { message }
}
