import ArgumentParser

/// An attack of one hostile user, or of strangers without a token.
enum AttackKind: String, CaseIterable, Codable, ExpressibleByArgument {
    case pongs
    case settings4 = "settings-4"
    case settings8 = "settings-8"
    case searchSockets = "search-sockets"
    case searchHTTP = "search-http"
    case strangers
    case connections
    case devices
    case slowBodies = "slow-bodies"
    case heif, jpeg, png, gif
    case heifAsImage = "heif-as-image"
    case jpegAsImage = "jpeg-as-image"
    case pngAsImage = "png-as-image"
    case groups, renames, members
    case users, deletes

    func summary(_ sizes: AttackSizes) -> String {
        switch self {
        case .pongs: "4 sockets without a token send pings and never read"
        case .settings4: "4 sockets of one user change their settings of a conversation"
        case .settings8: "8 sockets of one user change their settings of a conversation"
        case .searchSockets: "20 sockets of one user search 10,000 messages"
        case .searchHTTP: "50 HTTP connections of one user search 10,000 messages"
        case .strangers: "500 WebSockets without a token send all but one byte of a frame of 512 KiB"
        case .connections: "\(sizes.connections) connections that send nothing"
        case .devices: "\(sizes.connections) WebSockets of one user, each of another device"
        case .slowBodies: "200 HTTP requests whose heads or bodies arrive at one byte a second"
        case .heif, .jpeg, .png, .gif, .heifAsImage, .jpegAsImage, .pngAsImage:
            "\(sizes.uploads) uploads at once of \(sizes.megabytes) MB of empty \(parts) as type \(mediaType ?? "")"
        case .groups: "8 connections create groups with 30 kB of metadata"
        case .renames: "8 connections rename a group of the measuring user"
        case .members: "8 connections add 1,000 invented names to each new group"
        case .users: "8 connections request 100 profiles of invented names each"
        case .deletes: "8 connections delete 100 messages with each request"
        }
    }

    private var parts: String {
        switch self {
        case .heif, .heifAsImage: "HEIF boxes"
        case .jpeg, .jpegAsImage: "JPEG segments"
        case .png, .pngAsImage: "PNG chunks"
        default: "GIF blocks"
        }
    }

    /// The type of the uploaded file, or `nil` if the attack uploads nothing.
    ///
    /// A message of type `gif` has at most 2 MiB, so there is no such attack.
    var mediaType: String? {
        switch self {
        case .heif, .jpeg, .png, .gif: "file"
        case .heifAsImage, .jpegAsImage, .pngAsImage: "image"
        default: nil
        }
    }

    /// The beginning of the picture and the empty part that follows as often as the size allows.
    var picture: (start: [UInt8], part: [UInt8]) {
        switch self {
        case .heif, .heifAsImage: (Array("\0\0\0\u{10}ftypheic\0\0\0\0".utf8), Array("\0\0\0\u{8}free".utf8))
        case .jpeg, .jpegAsImage: ([0xFF, 0xD8], [0xFF, 0xFE, 0, 2])
        case .png, .pngAsImage:
            (
                [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Array("\0\0\0\u{D}IHDR".utf8)
                    + [0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0],
                Array("\0\0\0\0tEXt\0\0\0\0".utf8)
            )
        default: (Array("GIF89a".utf8) + [2, 0, 2, 0, 0, 0, 0], [0x21, 0xFE, 0])
        }
    }
}

/// The sizes of attacks that the command line can change.
struct AttackSizes: ParsableArguments {
    @Option(help: "The size of each uploaded picture in MB (1,000,000 bytes), 1...1000.") var megabytes = 100
    @Option(help: "The number of uploads at once, 1...16.") var uploads = 4
    @Option(help: "The number of connections of the attacks connections and devices, 1...20000.")
    var connections = 2000

    func validate() throws {
        guard 1...1000 ~= megabytes, 1...16 ~= uploads, 1...20_000 ~= connections else {
            throw ValidationError(
                "--megabytes must be in 1...1000, --uploads in 1...16 and --connections in 1...20000.")
        }
    }

    var arguments: [String] {
        ["--megabytes", "\(megabytes)", "--uploads", "\(uploads)", "--connections", "\(connections)"]
    }
}
