import Foundation
import ScrollbackModel
import ScrollbackWire

/// Imports a chat log: reads it line by line and sends the messages of each conversation in ordered batches.
struct Importer {
    let kind: Import.Kind
    let community: Identifier
    let onlyChannel: String?
    var progress: Progress

    private(set) var imported = 0
    private(set) var skipped = 0
    private(set) var conversations: Set<ConversationID> = []
    /// The number of channels and messages that are not direct conversations, or `nil` for other kinds.
    private(set) var ignored: (channels: Int, messages: Int)?

    private let client: ImportClient
    private var batches: [ConversationID: ImportBatch] = [:]
    private var bufferedLines = 0
    private var bytesRead = 0
    /// The full batch that is being sent while the next lines are read.
    private var sending: Task<Result<ImportClient.Report, ChatError>, Never>?

    /// The number of concurrent requests.
    ///
    /// Each waits for the server's disk, and one sync commits all waiting writes.
    private static let maximumConcurrentRequests = 8
    /// The number of buffered lines of direct conversations at which the importer sends them.
    private static let maximumBufferedLines = 5_000

    init(
        api: ServerAPI, kind: Import.Kind, community: Identifier, onlyChannel: String?, countsUnread: Bool,
        progress: Progress
    ) {
        client = ImportClient(api: api, countsUnread: countsUnread)
        self.kind = kind
        self.community = community
        self.onlyChannel = onlyChannel
        self.progress = progress
    }

    mutating func run(_ data: Data) async throws(ChatError) {
        do throws(ChatError) {
            try await importAll(data)
        } catch {
            _ = await sending?.value
            throw error
        }
    }

    private mutating func importAll(_ data: Data) async throws(ChatError) {
        let community = self.community
        switch kind {
        case .direct: try await importPairs(of: data)
        case .group: try await importChannels(of: data) { .group($0) }
        case .room: try await importChannels(of: data) { .room($0) }
        case .community:
            try await client.create(.community(community), name: community.text)
            try await importChannels(of: data) { .community(community, channel: $0) }
        }
        try await flushAll()
        progress.finish(bytesRead, "\(imported) messages")
    }

    /// Imports each channel as one conversation.
    ///
    /// Its lines must be in order in the file.
    private mutating func importChannels(
        of data: Data, as conversation: (Identifier) -> ConversationID
    ) async throws(ChatError) {
        var number = 0
        for line in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            // The last line may have no newline.
            bytesRead = min(bytesRead + line.count + 1, data.count)
            if line.isEmpty { continue }
            let read = try ImportLine(line, number: number)
            if let onlyChannel, read.channel != onlyChannel { continue }
            try await buffer(read, number, for: conversation(try read.requiredChannel(line: number)))
        }
    }

    private mutating func importPairs(of data: Data) async throws(ChatError) {
        let pairs = try DirectPairs(of: data, onlyChannel: onlyChannel)
        ignored = (pairs.ignoredChannels, pairs.ignoredMessages)
        bytesRead = pairs.ignoredBytes
        for (id, lines) in pairs.conversations {
            for line in lines {
                bytesRead = min(bytesRead + line.range.count + 1, data.count)
                try await buffer(try ImportLine(data[line.range], number: line.number), line.number, for: id)
            }
            if bufferedLines >= Self.maximumBufferedLines { try await flushAll() }
        }
    }

    // MARK: Batches

    private mutating func buffer(
        _ line: ImportLine, _ number: Int, for id: ConversationID
    ) async throws(ChatError) {
        var writer = JSONWriter()
        let messageID = line.messageID(in: id)
        line.write(to: &writer, id: messageID)
        let message = writer.bytes
        if let batch = batches[id], !batch.hasSpace(for: message) {
            batches[id] = nil
            bufferedLines -= batch.count
            try await send(batch, to: id)
        }
        batches[id, default: ImportBatch()].add(message, id: messageID, line: number)
        bufferedLines += 1
    }

    /// Sends a batch after the one before, and returns before it has arrived.
    private mutating func send(_ batch: ImportBatch, to id: ConversationID) async throws(ChatError) {
        try await finishSending()
        let isNew = conversations.insert(id).inserted
        sending = Task { [client] in await client.result(of: batch, into: id, isNew: isNew) }
    }

    private mutating func finishSending() async throws(ChatError) {
        guard let result = await sending?.value else { return }
        sending = nil
        record(try result.get())
    }

    private mutating func record(_ report: ImportClient.Report) {
        imported += report.imported
        skipped += report.skipped
        progress.show(bytesRead, "\(imported) messages")
    }

    /// Sends the buffered lines of all conversations, with a limited number of concurrent requests.
    private mutating func flushAll() async throws(ChatError) {
        try await finishSending()
        var rest = batches.sorted { $0.key < $1.key }[...]
        let isNew = rest.map { conversations.insert($0.key).inserted }
        batches = [:]
        bufferedLines = 0
        let client = self.client
        var newFlags = isNew[...]
        let failure = await withTaskGroup(of: Result<ImportClient.Report, ChatError>.self) { group -> ChatError? in
            func addNext() {
                guard let (id, batch) = rest.popFirst(), let isNew = newFlags.popFirst() else { return }
                group.addTask { await client.result(of: batch, into: id, isNew: isNew) }
            }
            for _ in 0..<Self.maximumConcurrentRequests { addNext() }
            var failure: ChatError?
            for await result in group {
                switch result {
                case .success(let report): record(report)
                case .failure(let error): failure = failure ?? error
                }
                if failure == nil { addNext() }
            }
            return failure
        }
        if let failure { throw failure }
    }
}

/// Sends batches to the server.
struct ImportClient: Sendable {
    let api: ServerAPI
    let countsUnread: Bool

    struct Report: Sendable {
        var imported = 0
        var skipped = 0
    }

    /// Imports a batch.
    ///
    /// An error that names one of its messages also names the line.
    ///
    /// - Parameter isNew: Whether this is the first batch of the conversation, so that the conversation may have to be
    ///   created.
    func result(of batch: ImportBatch, into id: ConversationID, isNew: Bool) async -> Result<Report, ChatError> {
        do throws(ChatError) {
            return .success(try await put(batch, into: id, isNew: isNew))
        } catch {
            return .failure(batch.locating(error))
        }
    }

    private func put(_ batch: ImportBatch, into id: ConversationID, isNew: Bool) async throws(ChatError) -> Report {
        // Direct conversations are created by their first message and have no name.
        if isNew, !id.kind.traits.isImplicit { try await create(id, name: (id.part ?? id.target).text) }
        let countsUnread = self.countsUnread
        return try await api.object("POST", ServerAPI.path(id, "/import")) { writer in
            if countsUnread { writer.field("countsUnread", true) }
            writer.key("messages")
            batch.write(to: &writer)
        } read: { (reader) throws(ChatError) in
            var report = Report()
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "imported": report.imported = Int(try value.integer())
                case "skipped": report.skipped = Int(try value.integer())
                default: try value.skip()
                }
            }
            return report
        }
    }

    func create(_ id: ConversationID, name: String) async throws(ChatError) {
        try await api.perform("PUT", ServerAPI.path(id)) { $0.field("name", name) }
    }
}
