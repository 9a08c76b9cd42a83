import ScrollbackServer
import Testing

/// What `scrollback cluster drain` concludes from the answers of the nodes.
@Suite("The progress of a node that is drained")
struct DrainProgressTests {
    private func progress(isAnswering: Bool) -> DrainProgress {
        var progress = DrainProgress(isAnswering: isAnswering)
        progress.listed(isDraining: true, isAnswering: isAnswering, busIsConnected: true)
        return progress
    }

    @Test("A node has stopped when it is missing in several lists in a row")
    func missing() {
        var progress = self.progress(isAnswering: false)
        for _ in 1..<DrainProgress.signsThatStopped {
            progress.listed(isDraining: nil, isAnswering: false, busIsConnected: true)
            #expect(!progress.hasStopped)
        }
        progress.listed(isDraining: nil, isAnswering: false, busIsConnected: true)
        #expect(progress.hasStopped)
    }

    @Test("A list of a node that does not know the others yet does not show that the node has stopped")
    func youngNode() {
        var progress = self.progress(isAnswering: false)
        for _ in 1..<DrainProgress.signsThatStopped {
            progress.listed(isDraining: nil, isAnswering: false, busIsConnected: true)
        }
        progress.listed(isDraining: true, isAnswering: false, busIsConnected: true)
        progress.listed(isDraining: nil, isAnswering: false, busIsConnected: true)
        #expect(!progress.hasStopped && progress.isDraining)
        for _ in 0..<9 { progress.listed(isDraining: nil, isAnswering: false, busIsConnected: false) }
        #expect(!progress.hasStopped)
    }

    @Test("An unreachable server shows that the node has stopped only if it is the node, and not at once")
    func unreachable() {
        var progress = self.progress(isAnswering: true)
        progress.unreachable()
        #expect(!progress.hasStopped)
        for _ in 1..<DrainProgress.signsThatStopped { progress.unreachable() }
        #expect(progress.hasStopped)
        var other = self.progress(isAnswering: false)
        for _ in 0..<9 { other.unreachable() }
        #expect(!other.hasStopped)
    }

    @Test("A request to another node is repeated until the node is listed as draining")
    func requests() {
        var progress = DrainProgress(isAnswering: false)
        progress.requested()
        #expect(!progress.isDraining)
        progress = DrainProgress(isAnswering: true)
        progress.requested()
        #expect(progress.isDraining)
    }
}
