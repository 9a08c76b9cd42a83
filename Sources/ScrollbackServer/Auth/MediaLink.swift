import Foundation
import JWTKit
import ScrollbackEngine
import ScrollbackModel

/// The scope of a download link: one file or its thumbnail.
struct MediaLink: Hashable, Sendable {
    var media: MediaID
    var isThumbnail: Bool

    /// The text that identifies the link in a token.
    var text: String { isThumbnail ? "\(media)/thumbnail" : "\(media)" }
}
