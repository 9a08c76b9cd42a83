import NIOCore

/// Runs the tasks of a connection on its event loop.
///
/// A request then changes threads only where it waits for the disk. Code that runs here must not block and must be
/// short, because the event loop serves other connections too.
final class EventLoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
