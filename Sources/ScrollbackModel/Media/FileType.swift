/// The type of a file, detected from its first bytes and never from its name.
///
/// The patterns follow the MIME Sniffing Standard (mimesniff.spec.whatwg.org, sections 6 and 7) where it has them, and
/// the signatures of the formats otherwise.
package struct FileType: Hashable, Sendable {
    /// The media type (RFC 6838).
    package let mediaType: String

    package init(_ mediaType: String) {
        self.mediaType = mediaType
    }

    /// The number of bytes that detection uses.
    ///
    /// It is the resource header of MIME sniffing, with room for comments before markup.
    package static let prefixLength = 1445

    static let unknown = FileType("application/octet-stream")

    /// Detects the type of a file.
    ///
    /// - Parameter prefix: The first bytes of the file, at least ``prefixLength`` if it has that many.
    package init(of prefix: some Collection<UInt8>) {
        let bytes = Array(prefix.prefix(Self.prefixLength))
        self =
            Self.signatures.first { $0.matches(bytes) }.map { FileType($0.mediaType) } ?? Self.container(bytes)
            ?? Self.videoType(bytes) ?? Self.text(bytes) ?? .unknown
    }

    // MARK: Signatures

    /// A sequence of bytes at a fixed offset.
    private struct Signature: Sendable {
        var mediaType: String
        var offset = 0
        var bytes: [UInt8]

        init(_ mediaType: String, _ text: String, at offset: Int = 0) {
            self.init(mediaType, Array(text.utf8), at: offset)
        }

        init(_ mediaType: String, _ bytes: [UInt8], at offset: Int = 0) {
            self.mediaType = mediaType
            self.offset = offset
            self.bytes = bytes
        }

        func matches(_ file: [UInt8]) -> Bool { file.dropFirst(offset).starts(with: bytes) }
    }

    private static let signatures: [Signature] = [
        Signature("image/jpeg", [0xFF, 0xD8, 0xFF]),
        Signature("image/png", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
        Signature("image/gif", "GIF87a"), Signature("image/gif", "GIF89a"),
        Signature("image/bmp", "BM"), Signature("image/tiff", "II*\0"), Signature("image/tiff", "MM\0*"),
        Signature("image/x-icon", [0, 0, 1, 0]),
        Signature("audio/mpeg", "ID3"), Signature("audio/amr", "#!AMR"), Signature("audio/flac", "fLaC"),
        Signature("audio/x-caf", "caff"), Signature("audio/midi", "MThd\0\0\0\u{6}"),
        Signature("audio/ogg", "OggS\0"),
        Signature("video/mpeg", [0, 0, 1, 0xBA]), Signature("video/x-flv", "FLV\u{1}"),
        Signature("video/x-ms-asf", [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11]),
        Signature("application/pdf", "%PDF-"), Signature("application/postscript", "%!PS-Adobe-"),
        Signature("application/rtf", "{\\rtf"), Signature("application/zip", "PK\u{3}\u{4}"),
        Signature("application/gzip", [0x1F, 0x8B, 0x08]),
        Signature("application/x-7z-compressed", [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]),
        Signature("application/vnd.rar", "Rar!\u{1A}\u{7}"), Signature("application/wasm", "\0asm"),
        Signature("application/vnd.sqlite3", "SQLite format 3\0"), Signature("application/x-elf", "\u{7F}ELF"),
        Signature("application/vnd.microsoft.portable-executable", "MZ"),
    ]

    // MARK: Containers

    private static func container(_ bytes: [UInt8]) -> FileType? {
        func has(_ text: String, at offset: Int) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
        if has("RIFF", at: 0) {
            if has("WEBPVP", at: 8) { return FileType("image/webp") }
            if has("WAVE", at: 8) { return FileType("audio/wav") }
            if has("AVI ", at: 8) { return FileType("video/x-msvideo") }
        }
        if has("FORM", at: 0), has("AIFF", at: 8) || has("AIFC", at: 8) { return FileType("audio/aiff") }
        if bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) {
            return FileType(bytes.contains("webm") ? "video/webm" : "video/matroska")
        }
        if has("ftyp", at: 4) { return FileType(mediaTypes(ofBrand: bytes.dropFirst(8).prefix(4))) }
        // QuickTime files of older cameras start with their data.
        if ["moov", "mdat", "wide"].contains(where: { has($0, at: 4) }) { return FileType("video/quicktime") }
        return nil
    }

    /// Returns the media type for the major brand of an ISO base media file (ISO/IEC 14496-12).
    private static func mediaTypes(ofBrand brand: some Collection<UInt8>) -> String {
        let brand = String(decoding: brand, as: UTF8.self)
        switch brand {
        case "heic", "heix", "heim", "heis": return "image/heic"
        case "hevc", "hevx": return "image/heic-sequence"
        case "mif1", "msf1": return "image/heif"
        case "avif", "avis": return "image/avif"
        case "M4A ", "M4B ", "M4P ": return "audio/mp4"
        case "qt  ": return "video/quicktime"
        default: return brand.hasPrefix("3g") ? "video/3gpp" : "video/mp4"
        }
    }

    /// Detects streams without a header, which consist of consecutive frames.
    private static func videoType(_ bytes: [UInt8]) -> FileType? {
        guard bytes.count >= 2 else { return nil }
        if bytes[0] == 0xFF {
            // In ADTS the layer is 0 (ISO/IEC 13818-7); in MPEG audio it is 1 to 3 (ISO/IEC 11172-3).
            if bytes[1] & 0xF6 == 0xF0 { return FileType("audio/aac") }
            // FF FE is the byte order mark of UTF-16 text, and a header of MPEG audio that no encoder writes.
            if bytes[1] & 0xE0 == 0xE0, bytes[1] & 0x06 != 0, bytes[1] != 0xFE { return FileType("audio/mpeg") }
        }
        if bytes.count > 376, [0, 188, 376].allSatisfy({ bytes[$0] == 0x47 }) { return FileType("video/mp2t") }
        return nil
    }

    // MARK: Text

    private static let markup: [String] = [
        "<!doctype html", "<html", "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table", "<a", "<style",
        "<title", "<b", "<body", "<br", "<p", "<!--",
    ]

    private static func text(_ bytes: [UInt8]) -> FileType? {
        var start = bytes[...]
        for mark: [UInt8] in [[0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE]] where start.starts(with: mark) {
            if mark.count == 2 { return FileType("text/plain") }
            start = start.dropFirst(mark.count)
        }
        guard !bytes.contains(where: isBinary) else { return nil }
        start = start.drop { [0x09, 0x0A, 0x0C, 0x0D, 0x20].contains($0) }
        func startsWith(_ text: String) -> Bool {
            start.prefix(text.utf8.count).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }.elementsEqual(text.utf8)
        }
        if startsWith("<?xml") { return FileType(bytes.contains("<svg") ? "image/svg+xml" : "text/xml") }
        if startsWith("<svg") { return FileType("image/svg+xml") }
        let isMarkup = markup.contains { tag in
            guard startsWith(tag) else { return false }
            let next = start.dropFirst(tag.utf8.count).first
            return tag == "<!--" || next == 0x20 || next == 0x3E || next == nil
        }
        return FileType(isMarkup ? "text/html" : "text/plain")
    }

    /// Returns whether a byte never occurs in text (mimesniff, "binary data byte").
    private static func isBinary(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x00...0x08, 0x0B, 0x0E...0x1A, 0x1C...0x1F: true
        default: false
        }
    }
}

extension FileType {
    /// Returns whether a file of this type can be the file of a message of `type`.
    package func isAllowed(in type: MessageType) -> Bool {
        switch type {
        case .image: isPicture
        case .gif: mediaType == "image/gif"
        // Recorders also store audio in containers with video media types.
        case .voice:
            mediaType.hasPrefix("audio/")
                || ["video/mp4", "video/3gpp", "video/webm", "video/quicktime"].contains(mediaType)
        case .video: mediaType.hasPrefix("video/")
        default: true
        }
    }

    /// Whether the file is a raster image; SVG is excluded because it can contain scripts.
    package var isPicture: Bool { mediaType.hasPrefix("image/") && mediaType != "image/svg+xml" }

    /// Whether a browser can display the file without running scripts in it; other files are served as downloads.
    package var isSafeToShow: Bool {
        isPicture || mediaType.hasPrefix("audio/") || mediaType.hasPrefix("video/")
    }
}

extension [UInt8] {
    fileprivate func contains(_ text: String) -> Bool {
        let text = Array(text.utf8)
        return indices.contains { self[$0...].starts(with: text) }
    }
}
