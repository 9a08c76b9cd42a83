import Foundation
import ScrollbackModel

#if canImport(AVFoundation) && canImport(UniformTypeIdentifiers)
    import AVFoundation
    import ImageIO
    import UniformTypeIdentifiers
#endif

/// The metadata of a video, where the system can read it: on Apple platforms.
struct VideoMetadata: Sendable {
    var duration: TimeInterval?
    var pixels: Media.Size?
    /// The first frame as a JPEG.
    var poster: Data?

    init?(_ file: URL) async {
        #if canImport(AVFoundation) && canImport(UniformTypeIdentifiers)
            let asset = AVURLAsset(url: file)
            guard let track = try? await asset.loadTracks(withMediaType: .video).first,
                let (size, transform) = try? await track.load(.naturalSize, .preferredTransform),
                let length = try? await asset.load(.duration)
            else { return nil }
            let upright = size.applying(transform)
            let (width, height) = (Int(abs(upright.width).rounded()), Int(abs(upright.height).rounded()))
            if width > 0, height > 0 { pixels = Media.Size(width: width, height: height) }
            if length.isNumeric, length.seconds >= 0 { duration = length.seconds }
            let generator = AVAssetImageGenerator(asset: asset)
            generator.appliesPreferredTrackTransform = true
            if let image = try? await generator.image(at: .zero).image { poster = Self.jpeg(image) }
        #else
            return nil
        #endif
    }

    #if canImport(AVFoundation) && canImport(UniformTypeIdentifiers)
        private static func jpeg(_ image: CGImage) -> Data? {
            let data = NSMutableData()
            guard
                let destination = CGImageDestinationCreateWithData(data, UTType.jpeg.identifier as CFString, 1, nil)
            else { return nil }
            CGImageDestinationAddImage(destination, image, nil)
            return CGImageDestinationFinalize(destination) ? data as Data : nil
        }
    #endif
}
