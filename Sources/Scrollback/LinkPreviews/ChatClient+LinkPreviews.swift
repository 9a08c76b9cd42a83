import Foundation
public import ScrollbackModel
import ScrollbackPictureScaling

extension ChatClient {
    /// Makes a preview of the page to which the first link of a text leads.
    ///
    /// The device requests the page, and its picture if it has one. Their servers learn the address of the device, so
    /// ask the user first. Readers of the message request nothing.
    ///
    /// ```swift
    /// let text = "Look at https://example.org/tours"
    /// try await chat.send(.text(text, preview: try? await client.linkPreview(forLinkIn: text)))
    /// ```
    ///
    /// Pages are read if they are HTML in UTF-8 or Latin 1.
    ///
    /// - Returns: `nil` if the text has no link, or if the page can't be read or has no title.
    /// - Throws: `unreachable` if the server of the page does not answer within ten seconds; `malformed` if the page
    ///   has more than 4 MiB.
    public func linkPreview(forLinkIn text: String) async throws(ChatError) -> LinkPreview? {
        guard let link = LinkPreview.firstLink(in: text), let url = URL(string: link) else { return nil }
        return try await LinkPreviewer(http: LinkPreviewer.transport, pictures: core.attachmentProcessor)
            .preview(of: link, at: url)
    }
}

/// Requests pages and their pictures.
struct LinkPreviewer: Sendable {
    let http: any HTTPTransport
    let pictures: AttachmentProcessor

    /// The maximum size of a page in bytes.
    private static let largestPage = 4 << 20
    /// The maximum size of the picture of a page in bytes.
    private static let largestPicture = 8 << 20
    /// The time limit of each request in seconds.
    private static let timeout = 10

    /// A transport for servers of others, which does not use the certificates of the chat server.
    static var transport: any HTTPTransport {
        #if canImport(Darwin)
            URLSessionHTTPTransport()
        #else
            AsyncHTTPClientTransport()
        #endif
    }

    func preview(of link: String, at url: URL) async throws(ChatError) -> LinkPreview? {
        let answer = try await http.exchange(
            HTTPExchange(
                method: "GET", url: url, headers: [("Accept", "text/html")], answerLimit: Self.largestPage,
                timeout: Self.timeout))
        let type = (answer.headers["content-type"] ?? "").lowercased()
        guard (200..<300).contains(answer.status), type.hasPrefix("text/html") else { return nil }
        let charset = type.firstRange(of: "charset=").map { String(type[$0.upperBound...]) }
        guard let page = PageMetadata(Array(answer.body), charset: charset),
            let title = page.title.flatMap({ LinkPreview.cleaned($0, longest: LinkPreview.longestTitle) })
        else { return nil }
        return LinkPreview(
            link: link, title: title,
            description: page.description.flatMap {
                LinkPreview.cleaned($0, longest: LinkPreview.longestDescription)
            },
            site: page.site.flatMap { LinkPreview.cleaned($0, longest: LinkPreview.longestSite) },
            picture: await picture(page.picture, of: url))
    }

    /// Returns the picture of a page, scaled down; `nil` if it can't be read.
    ///
    /// A page can't make the device send requests without encryption to other servers, such as those of its network.
    private func picture(_ address: String?, of page: URL) async -> Data? {
        guard let url = address.flatMap({ URL(string: $0, relativeTo: page)?.absoluteURL }),
            url.scheme == "https" || url.scheme == page.scheme && url.host() == page.host() && url.port == page.port,
            let answer = try? await http.exchange(
                HTTPExchange(
                    method: "GET", url: url, headers: [("Accept", "image/*")], answerLimit: Self.largestPicture,
                    timeout: Self.timeout)),
            (200..<300).contains(answer.status)
        else { return nil }
        return await pictures.thumbnail(of: answer.body, atMost: LinkPreview.largestPicture)
    }
}

extension AttachmentProcessor {
    /// Returns a small JPEG of a picture; `nil` if it can't be decoded or made small enough.
    func thumbnail(of picture: Data, atMost bytes: Int) -> Data? {
        for side in [240, 120] {
            var sizes = MessagePictures.Sizes()
            sizes.longestSide = side
            sizes.longestSideOfThumbnail = side
            guard let small = try? PictureScaler().messagePictures(picture, sizes: sizes).thumbnail.jpeg else {
                return nil
            }
            if small.count <= bytes { return small }
        }
        return nil
    }
}
