import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Reports to the server which messages of other users this device has stored.
///
/// A device that keeps its read positions to itself reports nothing.
extension Driver {
    func perform(_ action: DeliveryReports.Action?) async {
        switch action {
        case .report: await sendDeliveries()
        case .wake(let date): wake(at: date)
        case nil: break
        }
    }

    private func sendDeliveries() async {
        do {
            let marks = core.syncsReadState ? try await core.store.read { try $0.dueDeliveries() } : []
            // The connection may be gone by now.
            guard connection != nil, !marks.isEmpty else { return deliveries.foundNothing() }
            send(ReportDelivered(marks), .delivered(marks))
        } catch {
            await storeFailed(error)
        }
    }

    func deliveriesAnswered(_ marks: [DeliveryMark], _ result: Result<[UInt8], ChatError>) async {
        let results: [DeliveryResult]
        do throws(ChatError) {
            var reader = try JSONReader(try result.get())
            results = try ReportDelivered.Answer(from: &reader).results
        } catch let error where error.isTemporary {
            deliveries.failed()
            return retry(after: error)
        } catch {
            // If the operator has turned off receipts, the heads of all conversations are outdated.
            let failed = error.code == .featureOff ? marks : []
            results = failed.map { DeliveryResult(conversation: $0.conversation, error: error) }
        }
        do {
            // A refused report is not repeated. The head says whether the conversation still has receipts.
            try await core.store.write { writer in
                for mark in marks { try writer.saveReported(mark) }
            }
            fetchHeads(results.filter { $0.error != nil }.map(\.conversation))
            await perform(deliveries.answered(now: now))
        } catch {
            await storeFailed(error)
        }
    }
}
