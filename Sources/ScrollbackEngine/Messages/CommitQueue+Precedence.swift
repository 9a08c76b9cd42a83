import Synchronization

extension CommitQueue {
    /// The share of its time above which the writer is busy.
    private static let busyShare = 0.7
    private static let pause = Duration.milliseconds(250)

    /// Pauses if the writer was busy in the last tenth of a second.
    ///
    /// Work that can wait calls it before each step, so that messages take precedence.
    func giveWay() async {
        guard load.share > Self.busyShare else { return }
        pauses.add(1, ordering: .relaxed)
        try? await Task.sleep(for: Self.pause)
    }
}
