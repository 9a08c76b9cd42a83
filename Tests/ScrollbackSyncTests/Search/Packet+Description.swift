import ScrollbackModel
import ScrollbackSync

/// Readable descriptions of requests and answers for the report of a failed seed.
extension Request: CustomStringConvertible {
    var description: String {
        switch self {
        case .window(let number, let cursor): "window \(number) after \(cursor ?? "nothing")"
        case .sync(let batch, let positions): "sync \(batch) from \(positions.map(brief).joined(separator: ", "))"
        case .send(let conversation, let submission): "send \(submission.content.text ?? "-") to \(conversation)"
        case .page(let conversation, let request, let sender, _):
            "page of \(conversation), \(request.limit) \(request.direction) of \(request.anchor)"
                + (sender.map { " from \($0)" } ?? "")
        }
    }
}

extension Answer: CustomStringConvertible {
    var description: String {
        switch self {
        case .window(let number, let heads, let cursor, let isDone):
            "window \(number) to \(cursor)\(isDone ? ", the last" : ""): "
                + heads.map { "\($0.conversation) \(brief($0.state))" }.joined(separator: ", ")
        case .windowRefused(let number): "window \(number) refused"
        case .sync(let batch, let answers):
            "sync \(batch): "
                + answers.map { asked, answer in
                    "from \(brief(asked)): \(answer.mustRefetch ? "refetch, " : "")\(brief(answer.page)), changes "
                        + "\(answer.changes.map(brief)) through \(answer.changedThrough)"
                }.joined(separator: "; ")
        case .syncRefused(let batch): "sync \(batch) refused"
        case .sent(let conversation, let submission, _, .success(let result)):
            "\(result.outcome) \(submission.content.text ?? "-") in \(conversation) at \(result.position?.seq ?? 0)"
        case .sent(let conversation, let submission, _, .failure(let error)):
            "refused \(submission.content.text ?? "-") in \(conversation): \(error)"
        case .page(let conversation, _, let page, _): "page of \(conversation): \(brief(page))"
        case .pageRefused(let conversation, _): "page of \(conversation) refused"
        }
    }
}

func brief(_ event: LiveEvent) -> String {
    switch event {
    case .message(let message): "message \(message.conversation) \(brief(message))"
    case .changed(let conversation, let epoch, let change): "change \(conversation) \(brief(change)) in \(epoch)"
    case .head(let conversation, let head, _, _): "head \(conversation) \(brief(head))"
    case .hidden(let conversation, let epoch, let places): "hidden \(conversation) \(places) in \(epoch)"
    }
}

private func brief(_ position: LogPosition) -> String {
    "\(position.conversation) seq \(position.seq) rev \(position.rev) view \(position.view) in \(position.epoch)"
}

private func brief(_ head: LogHead) -> String {
    "\(head.firstSeq)...\(head.head) rev \(head.rev) view \(head.view) in \(head.epoch)"
}

private func brief(_ message: Message) -> String { "\(message.seq)@\(message.rev) \(message.text ?? "-")" }

private func brief(_ page: LogPage) -> String {
    "\(page.isFiltered ? "scanned" : "covered") \(page.coverage.lower)...\(page.coverage.upper) voids "
        + "\(page.coverage.deletedRanges.ranges) rows \(page.messages.map(brief)) of \(brief(page.state))"
}

private func brief(_ change: LogChange) -> String {
    switch change {
    case .message(let message): brief(message)
    case .removed(let range, let rev): "removed \(range)@\(rev)"
    case .invisible(let rev): "invisible@\(rev)"
    }
}
