/// The items in the `meta` box of a HEIF file (ISO/IEC 14496-12, 8.11; ISO/IEC 23008-12, 9.3).
struct HEIFItems {
    /// A metadata item, such as Exif or XMP.
    struct Metadata: Hashable {
        let isExif: Bool
        /// The ranges of the item in the file.
        fileprivate(set) var extents: [Range<Int>] = []
    }

    /// A box that contains neither the image nor its description.
    struct Box: Hashable {
        let name: Range<Int>
        let body: Range<Int>
    }

    /// The parts of the file that the image does not need.
    struct RemovableParts: Hashable {
        fileprivate(set) var metadata: [Metadata] = []
        fileprivate(set) var boxes: [Box] = []
        /// The end of the last box.
        fileprivate(set) var end = 0
    }

    /// The properties of the primary image.
    private(set) var properties: [HEIFBoxes.Box] = []
    private(set) var removableParts = RemovableParts()
    /// Whether the file has tracks, as image sequences have.
    private(set) var isSequence = false

    private let bytes: Bytes
    /// The indices of items in the metadata.
    private var indices: [Int: Int] = [:]
    private var written = 0

    init(_ bytes: Bytes) throws(PictureError) {
        self.bytes = bytes
        var meta: HEIFBoxes.Box?
        var boxes = HEIFBoxes(bytes)
        while let box = try boxes.next() {
            if box.name == "meta", meta == nil { meta = box }
            if box.name == "moov" { isSequence = true }
            if !["ftyp", "meta", "mdat"].contains(box.name) {
                let name = box.start + 4..<box.start + 8
                removableParts.boxes.append(Box(name: name, body: box.end - box.body.count..<box.end))
            }
        }
        removableParts.end = boxes.offset
        guard let meta else { throw .corrupt }

        // The boxes refer to each other and come in any order. The version and flags precede them.
        var parts: [Code: HEIFBoxes.Box] = [:]
        boxes = HEIFBoxes(meta.body, from: 4)
        let wanted: Set<Code> = ["pitm", "iinf", "iloc", "iprp", "idat"]
        while let box = try boxes.next() { if wanted.contains(box.name) { parts[box.name] = box } }
        guard let primary = parts["pitm"], let names = parts["iinf"], let locations = parts["iloc"],
            let properties = parts["iprp"]
        else { throw .corrupt }
        try readNames(names.body)
        // The offset of the item data box in the file.
        let dataBox = parts["idat"].map { meta.end - meta.body.count + $0.end - $0.body.count }
        try readLocations(locations.body, dataBox: dataBox)
        let isWide = try primary.body.byte(at: 0) != 0
        try readProperties(properties.body, of: try primary.body.number(at: 4, bytes: isWide ? 4 : 2))
    }

    /// Finds the metadata items.
    private mutating func readNames(_ body: Bytes) throws(PictureError) {
        var entries = HEIFBoxes(body, from: try body.byte(at: 0) == 0 ? 6 : 8)
        while let entry = try entries.next() {
            guard entry.name == "infe" else { continue }
            let version = try entry.body.byte(at: 0)
            let isWide = version == 3
            let item = try entry.body.number(at: 4, bytes: isWide ? 4 : 2)
            // Older versions describe items with a media type, which are never images.
            let kind: Code = version < 2 ? "mime" : try entry.body.code(at: isWide ? 10 : 8)
            if ["Exif", "mime", "uri "].contains(kind) {
                indices[item] = removableParts.metadata.count
                removableParts.metadata.append(Metadata(isExif: kind == "Exif"))
            }
        }
    }

    /// Verifies that all items are inside the file, and records the ranges of the metadata.
    private mutating func readLocations(_ body: Bytes, dataBox: Int?) throws(PictureError) {
        let version = try body.byte(at: 0)
        let sizes = try body.number(at: 4, bytes: 2)
        let (offsetSize, lengthSize, baseSize) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
        let indexSize = version == 0 ? 0 : sizes & 15
        let idSize = version == 2 ? 4 : 2
        var position = 6
        func next(_ bytes: Int) throws(PictureError) -> Int {
            defer { position += bytes }
            return try body.number(at: position, bytes: bytes)
        }
        for _ in 0..<(try next(idSize)) {
            try body.steps.take()
            let item = try next(idSize)
            let method = version == 0 ? 0 : try next(2) & 15
            _ = try next(2)
            let base = try next(baseSize)
            for _ in 0..<(try next(2)) {
                // Entries can have a size of 0, so a small file could declare billions of them.
                try body.steps.take()
                _ = try next(indexSize)
                let (offset, length) = (try next(offsetSize), try next(lengthSize))
                try add(item, method, dataBox, base, offset, length)
            }
        }
    }

    private mutating func add(
        _ item: Int, _ method: Int, _ dataBox: Int?, _ base: Int, _ offset: Int, _ length: Int
    ) throws(PictureError) {
        let index = indices[item]
        // Derived items have no range of their own. Metadata is never derived.
        guard method < 2 else {
            guard index == nil else { throw .unsupported }
            return
        }
        guard let origin = method == 0 ? 0 : dataBox else { throw .corrupt }
        let (sum, overflows) = base.addingReportingOverflow(offset)
        guard !overflows, sum <= bytes.count - origin, bytes.hasBytes(length, at: origin + sum) else { throw .corrupt }
        guard let index else { return }
        // Limit the total, so that a file can't cause repeated overwriting.
        written += length
        guard length > 0, written <= bytes.count else { throw .unsupported }
        removableParts.metadata[index].extents.append(origin + sum..<origin + sum + length)
    }

    /// Reads the properties of the primary image.
    private mutating func readProperties(_ body: Bytes, of primary: Int) throws(PictureError) {
        var all: [HEIFBoxes.Box] = []
        var boxes = HEIFBoxes(body)
        while let box = try boxes.next() {
            guard box.name == "ipco" else { continue }
            var inner = HEIFBoxes(box.body)
            while all.count < 32_767, let property = try inner.next() { all.append(property) }
        }
        boxes = HEIFBoxes(body)
        while let box = try boxes.next() {
            guard box.name == "ipma" else { continue }
            try Self.readAssociations(box.body) { item, index in
                guard item == primary, properties.count < 256, all.indices.contains(index) else { return }
                properties.append(all[index])
            }
        }
    }

    /// Reads the associations of items and properties.
    private static func readAssociations(
        _ body: Bytes, each: (_ item: Int, _ index: Int) -> Void
    ) throws(PictureError) {
        let idSize = try body.byte(at: 0) == 0 ? 2 : 4
        let indexSize = try body.byte(at: 3) & 1 + 1
        var position = 8
        for _ in 0..<(try body.number(at: 4, bytes: 4)) {
            try body.steps.take()
            let item = try body.number(at: position, bytes: idSize)
            let count = try body.byte(at: position + idSize)
            position += idSize + 1
            try body.steps.take(count)
            for _ in 0..<count {
                each(item, try body.number(at: position, bytes: indexSize) & (indexSize == 2 ? 0x7FFF : 0x7F) - 1)
                position += indexSize
            }
        }
    }
}
