/// A geographic location.
public struct Location: Hashable, Sendable {
    /// The latitude in degrees north, -90...90 (WGS 84).
    public var latitude: Double
    /// The longitude in degrees east, -180...180.
    public var longitude: Double
    /// The name of the place, at most 1 KiB of UTF-8.
    public var name: String?

    /// Creates a location.
    public init(latitude: Double, longitude: Double, name: String? = nil) {
        self.latitude = latitude
        self.longitude = longitude
        self.name = name
    }
}

extension MessageContent {
    /// Returns the content for a location.
    ///
    /// - Throws: `invalid-parameter` if a coordinate is out of range.
    public static func location(_ location: Location) throws(ChatError) -> MessageContent {
        for (name, degrees, range) in [
            ("latitude", location.latitude, Location.latitudes), ("longitude", location.longitude, Location.longitudes),
        ] where !range.contains(degrees) {
            throw .invalidParameter(name, "must be in \(range)")
        }
        return MessageContent(.location) { writer in
            writer.field("latitude", location.latitude)
            writer.field("longitude", location.longitude)
            writer.field("name", location.name)
        }
    }

    /// The location, if the content is one.
    public var location: Location? { type == .location ? try? Location(json) : nil }
}

extension Location {
    private static let longestName = 1024
    fileprivate static let latitudes = -90.0...90
    fileprivate static let longitudes = -180.0...180

    /// Parses the JSON of a location.
    ///
    /// - Throws: `invalid-parameter` naming the invalid member.
    init(_ json: RawJSON) throws(ChatError) {
        var latitude: Double?
        var longitude: Double?
        var name: String?
        var reader = JSONReader(json.text, field: "content")
        try reader.object { (member, value) throws(ChatError) in
            switch member {
            case "latitude": latitude = try value.degrees(Self.latitudes)
            case "longitude": longitude = try value.degrees(Self.longitudes)
            case "name":
                let text = try value.string()
                guard text.utf8.count <= Self.longestName else {
                    throw .invalidParameter(
                        "name", "of a location must be at most \(Self.longestName) bytes", limit: Self.longestName)
                }
                name = text
            default: try value.skip()
            }
        }
        guard let latitude, let longitude else {
            throw .invalidParameter("content", "of type location must have latitude and longitude")
        }
        self.init(latitude: latitude, longitude: longitude, name: name)
    }
}

extension JSONReader {
    fileprivate mutating func degrees(_ range: ClosedRange<Double>) throws(ChatError) -> Double {
        let degrees = try double()
        guard range.contains(degrees) else { throw mismatch("in \(range)") }
        return degrees
    }
}
