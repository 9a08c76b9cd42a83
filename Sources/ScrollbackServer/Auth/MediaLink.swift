import Foundation
import JWTKit
import ScrollbackEngine
import ScrollbackModel

/// What a link gives: one file, or its thumbnail, and nothing else.
struct MediaLink: Hashable, Sendable {
    var media: MediaID
    var isThumbnail: Bool

    /// As a token names it.
    var text: String { isThumbnail ? "\(media)/thumbnail" : "\(media)" }
}
