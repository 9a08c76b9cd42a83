import Foundation
package import ScrollbackModel
import ScrollbackWire
import Synchronization

/// Requests and their answers.
extension Session {
    func perform(_ request: ClientRequest, _ ref: Int64, _ caller: Caller) {
        if request.isSaid, let refusal = services.allowance?.take(caller, now: engine.clock()) {
            return answer(ref, refusal)
        }
        switch request {
        case .send(let id, let submission):
            engine.send(submission, to: id, by: caller, origin: Origin(self)) { [self] result in
                answer(ref, result) { $1.writeMembers(to: &$0) }
            }
        case .state(let id, let change):
            engine.change(id, change, by: caller) { [self] result in
                answer(ref, result) { $1.writeMembers(to: &$0) }
            }
        case .readMany(let marks):
            engine.read(marks, by: caller) { [self] result in
                answer(ref, result) { ReadAnswer.write($1, to: &$0) }
            }
        case .heads(let ids):
            offload(ref, { try $0.heads(of: ids, by: caller) }) { writer, answer in
                writer.key("heads")
                writer.array(answer.heads) { $1.write(to: &$0) }
                guard !answer.rest.isEmpty else { return }
                writer.key("rest")
                writer.array(answer.rest) { $0.value($1.description) }
            }
        case .edit(let id, let message, let edit, let operation):
            engine.edit(message, in: id, edit, operation: operation, by: caller, origin: Origin(self)) {
                [self] result in
                answer(ref, result) { writer, message in
                    writer.key("message")
                    message.write(to: &writer)
                }
            }
        case .delete(let id, let messages, let forMe):
            let completion: Engine.Completion<Int> = { [self] result in
                answer(ref, result) { $0.field("deleted", $1) }
            }
            if forMe {
                engine.hide(messages, in: id, by: caller, completion: completion)
            } else {
                engine.delete(messages, in: id, by: caller, completion: completion)
            }
        case .deleteHistory(let id, let range, let operation):
            engine.delete(range, of: id, operation: operation, by: caller) { [self] result in
                if case .success = result { services.tidy() }
                answer(ref, result) { $0.field("deleted", $1) }
            }
        case .addAction(let id, let message, let type, let value, let operation):
            engine.addAction(to: message, in: id, type: type, value: value, operation: operation, by: caller) {
                [self] result in
                answer(ref, result) { writer, action in
                    writer.key("action")
                    writer.object { action.writeMembers(to: &$0) }
                }
            }
        case .removeAction(let id, let message, let reference, let operation):
            engine.removeAction(from: message, reference, in: id, operation: operation, by: caller) {
                [self] result in
                answer(ref, result) { _, _ in }
            }
        case .actions(let id, let message, let after, let limit):
            offload(
                ref, { try $0.actions(on: message, in: id, after: after, limit: limit, by: caller) },
                { [MessageAction].write($1.actions, next: $1.next, to: &$0) })
        case .clear(let id, let seq, let epoch):
            engine.clear(id, through: seq, epoch: epoch, by: caller) { [self] result in
                answer(ref, result) { $1.writeMembers(to: &$0) }
            }
        case .fetch(let query):
            offload(ref, { try $0.fetch(query, by: caller) }) { writer, pages in
                writer.key("pages")
                writer.array(pages) { $1.write(to: &$0) }
            }
        case .counts(let since):
            offload(ref, { try $0.counts(since: since, by: caller) }, { MessageCounts.write($1, to: &$0) })
        case .refresh(let references):
            offload(ref, { try $0.refresh(references, by: caller) }, { Refreshed.write($1, to: &$0) })
        case .search(let query):
            engine.search(query, by: caller, offload: services.offload) { [self] result in
                answer(ref, result) { $1.writeMembers(to: &$0) }
            }
        case .history(let id, let query):
            offload(ref, { try $0.history(of: id, query, by: caller) }, { $1.writeMembers(to: &$0) })
        case .syncWindow(let cursor, let limit):
            offload(
                ref, { try $0.syncWindow(cursor: cursor, limit: limit, by: caller) }, { $1.writeMembers(to: &$0) })
        case .syncLogs(let positions):
            offload(ref, { try $0.syncLogs(positions, by: caller) }) { writer, answers in
                writer.key("logs")
                writer.array(answers) { $1.write(to: &$0) }
            }
        case .subscribe(let ids):
            offload(ref, { [self] in try hear(ids, caller, $0) }) { writer, heads in
                writer.key("heads")
                writer.array(heads) { $1.write(to: &$0) }
            }
        case .unsubscribe(let ids):
            for id in ids { unsubscribe(from: id.log.absolute(for: caller.user)) }
            answer(ref, .success(())) { _, _ in }
        case .typing(let id, let isTyping):
            offload(ref, { [self] in try typing(in: id, isTyping: isTyping, caller, $0) }, { _, _ in })
        case .block(let user, let isOn):
            engine.block(user, isOn: isOn, by: caller) { [self] result in answer(ref, result) { _, _ in } }
        case .blocks(let after, let limit):
            offload(ref, { try $0.blocked(by: caller, after: after, limit: limit) }, { $1.writeMembers(to: &$0) })
        case .people(let request): perform(request, ref, caller)
        case .push(let operation): perform(operation, ref, caller)
        case .ban(let id, let user, let until, let reason):
            engine.ban(user, until: until, reason: reason, from: id, by: caller) { [self] result in
                answer(ref, result) { _, _ in }
            }
        case .unban(let id, let user):
            engine.unban(user, from: id, by: caller) { [self] result in answer(ref, result) { _, _ in } }
        case .bans(let id, let after, let limit):
            offload(ref, { try $0.bans(of: id, after: after, limit: limit, by: caller) }, { $1.writeMembers(to: &$0) })
        case .report(let id, let message, let reason, let text):
            engine.report(message, in: id, reason: reason, text: text, by: caller) { [self] result in
                answer(ref, result) { $0.field("number", $1.number) }
            }
        case .users(let ids): offload(ref, { try $0.users(ids) }, { $1.writeMembers(to: &$0) })
        case .activity(let isActive):
            state.withLock { $0.isActive = isActive }
            if isActive { services.offload { [self] in isHere() } } else { isGone() }
            answer(ref, .success(())) { _, _ in }
        case .token(let token): renew(token, ref, caller)
        case .ping:
            outlet.send(ServerFrame.encodeResult(ref: ref) { _ in })
        }
    }

    /// Hears conversations in full, all of them or none.
    private func hear(_ ids: [ConversationID], _ caller: Caller, _ engine: Engine) throws -> [ConversationHead] {
        func look() throws -> [(head: ConversationHead, seesAllAbove: Seq, capacity: Int64?)] {
            try ids.map { try engine.audibleHead(of: $0.log, by: caller) }
        }
        let names = ids.map { $0.log.absolute(for: caller.user) }
        func hear(_ found: [(head: ConversationHead, seesAllAbove: Seq, capacity: Int64?)], _ mark: Mark) throws -> Bool
        {
            let capacities = zip(names, found).compactMap { name, found in found.capacity.map { (name, $0) } }
            return try subscribe(
                to: Dictionary(zip(names, found.map(\.seesAllAbove)), uniquingKeysWith: max),
                capacities: Dictionary(capacities, uniquingKeysWith: min), since: mark)
        }
        var mark = mark()
        var found = try look()
        while try !hear(found, mark) {
            mark = self.mark()
            found = try look()
        }
        // Once more: what was said before it was heard is in the heads, and nothing lies between the two.
        return try look().map(\.head)
    }

    private func renew(_ token: String, _ ref: Int64, _ caller: Caller) {
        services.verify(token) { [self] result in
            switch result {
            case .failure(let error): answer(ref, error)
            case .success(let verified):
                guard verified.caller.user == caller.user else {
                    return answer(ref, ChatError(.forbidden, "the token is another user's", parameter: "token"))
                }
                if let refusal = refusal(of: "hello", to: verified.caller) { return answer(ref, refusal) }
                state.withLock { state in
                    guard case .open(_, let device, _) = state.phase else { return }
                    state.phase = .open(caller: verified.caller, device: device, expiresAt: verified.expiresAt)
                }
                answer(ref, .success(())) { _, _ in }
            }
        }
    }

    func offload<Answer: Sendable>(
        _ ref: Int64, _ work: @escaping @Sendable (Engine) throws -> Answer,
        _ encode: @escaping @Sendable (inout JSONWriter, Answer) -> Void
    ) {
        services.offload { [self] in
            answer(ref, Result { try work(engine) }.mapError(ChatError.init(wrapping:)), encode)
        }
    }

    func answer<Answer>(
        _ ref: Int64, _ result: Result<Answer, ChatError>, _ encode: (inout JSONWriter, Answer) -> Void
    ) {
        switch result {
        case .success(let value): outlet.send(ServerFrame.encodeResult(ref: ref) { encode(&$0, value) })
        case .failure(let error): answer(ref, error)
        }
    }

    func answer(_ ref: Int64?, _ error: ChatError) {
        outlet.send(ServerFrame.encodeError(ref: ref, error))
    }
}

extension ClientRequest {
    /// Whether it reaches others, and so is one of those a user may send so many of.
    fileprivate var isSaid: Bool {
        switch self {
        case .send, .edit, .addAction, .removeAction, .report, .people(.invite): true
        default: false
        }
    }
}

extension ChatError {
    /// Whatever a store threw.
    package init(wrapping error: any Error) {
        self = error as? ChatError ?? ChatError(.internalError, "the store failed", cause: error)
    }
}

extension Engine {
    /// What a connection of the caller hears without asking: conversations that stream to their members, private channels,
    /// and communities themselves, whose members hear which channels moved.
    ///
    /// Each with the place above which they see every message.
    package func streams(of caller: Caller) throws -> [ConversationID: Seq] {
        try store.read { store in
            var ids: [ConversationID: Seq] = [:]
            for member in try store.memberships(of: caller.user) where member.standing == .member {
                guard let row = try store.conversation(numbered: member.conversation), !row.isDeleted,
                    permissions[.read, row.id.kind].isMet(by: member.role, isAdmin: caller.isAdmin)
                else { continue }
                ids[row.id] = try store.seesAllAbove(member, in: row)
            }
            return ids
        }
    }

    /// A conversation's head, for whoever may hear what is said there: who left may read their part and no more.
    fileprivate func audibleHead(
        of id: ConversationID, by caller: Caller
    ) throws -> (head: ConversationHead, seesAllAbove: Seq, capacity: Int64?) {
        let name = id.absolute(for: caller.user)
        return try store.read { store in
            let access = try access(to: name, for: caller, in: store)
            let head = try head(of: access, for: caller.user, in: store)
            guard head.isMember || permissions[.read, id.kind].isMet(by: nil, isAdmin: caller.isAdmin) else {
                throw ChatError(.notMember, "you are not a member of \(id) any more")
            }
            return (head, access.seesAllAbove, access.conversation.capacity)
        }
    }
}
