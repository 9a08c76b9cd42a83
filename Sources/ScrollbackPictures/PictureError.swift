/// Why a file is not taken as a picture, or is not made smaller.
package enum PictureError: Error, Hashable, Sendable {
    /// Not a picture, or of no kind that is known.
    case unknown
    /// A rare kind of a known type, which few programs show.
    case unsupported
    /// Damaged or cut off.
    case corrupt
    /// Above the limits, by its own claim.
    case tooLarge(width: Int, height: Int)
    /// A JPEG made to keep decoders busy.
    case tooManyScans(Int)
    /// A GIF, or a moving picture of another type: making it smaller would stop it, so it is sent as it is.
    case moving
    /// Nothing on this system decodes the type: the picture is sent as a file.
    case noDecoder(PictureType)
    /// There was not enough memory, or the system's encoder failed.
    case failed
}

extension PictureError: CustomStringConvertible {
    /// A sentence for a person.
    package var message: String {
        switch self {
        case .unknown: "this is not a JPEG, PNG, GIF, WebP, HEIC or AVIF picture"
        case .unsupported: "this is a rare kind of picture that can't be read"
        case .corrupt: "the picture is damaged or cut off"
        case .tooLarge(let width, let height): "the picture is too large: \(width) x \(height) pixels"
        case .tooManyScans(let scans): "the picture is drawn in \(scans) layers, which is too many"
        case .moving: "GIFs and moving pictures are not made smaller"
        case .noDecoder(let type): "\(type.rawValue.uppercased()) pictures can't be made smaller here"
        case .failed: "the picture could not be made smaller"
        }
    }

    package var description: String { message }
}
