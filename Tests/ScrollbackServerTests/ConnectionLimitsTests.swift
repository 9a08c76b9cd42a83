import Foundation
import Logging
import NIOCore
import NIOEmbedded
import ScrollbackModel
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackServer

@Suite struct ConnectionLimitsTests {
    private func address(_ text: String) throws -> ClientAddress? {
        ClientAddress(try SocketAddress(ipAddress: text, port: 7))
    }

    @Test func `Connections are limited in total and by address, and a closed one makes place`() throws {
        let metrics = ServerMetrics()
        let log = LogRecorder()
        let limits = ConnectionLimits(maximum: 5, maximumPerAddress: 3, metrics: metrics, logger: log.logger)
        let (first, second) = (try address("192.0.2.1"), try address("192.0.2.2"))
        #expect((0..<4).map { _ in limits.open(first) } == [true, true, true, false])
        #expect((0..<3).map { _ in limits.open(second) } == [true, true, false])
        #expect(limits.total == 5)
        #expect(metrics.total("scrollback_refused_connections_total{limit=\"address\"}") == 1)
        #expect(metrics.total("scrollback_refused_connections_total{limit=\"total\"}") == 1)
        limits.close(first)
        #expect(limits.open(second))
        #expect(!limits.open(first))
        // Each reason is logged once, and not again in the same minute.
        #expect(log.lines.count == 2)
        #expect(log.lines.first?.contains("address=192.0.2.1 limit=3") == true, "\(log.lines)")
    }

    @Test func `Without a limit per address, only the total counts`() throws {
        let limits = ConnectionLimits(
            maximum: 2000, maximumPerAddress: nil, metrics: ServerMetrics(), logger: LogRecorder().logger)
        let proxy = try address("127.0.0.1")
        #expect((0..<2000).allSatisfy { _ in limits.open(proxy) })
        #expect(!limits.open(proxy))
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("::ffff:192.0.2.1", "192.0.2.1", true),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true), ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
    ])
    func `An address is an IPv4 address or the first 64 bits of an IPv6 address`(
        one: String, other: String, isSame: Bool
    ) throws {
        #expect((try address(one) == address(other)) == isSame)
    }

    @Test func `Addresses are readable in the log`() throws {
        #expect(try address("192.0.2.1")?.description == "192.0.2.1")
        #expect(try address("2001:db8:1:2::1")?.description == "2001:db8:1:2::/64")
    }

    @Test func `The server accepts nothing for a second after the system refused a connection`() throws {
        let metrics = ServerMetrics()
        let log = LogRecorder()
        let limits = ConnectionLimits(maximum: 1, maximumPerAddress: nil, metrics: metrics, logger: log.logger)
        let channel = EmbeddedChannel(handler: AcceptGate(limits: limits, metrics: metrics, logger: log.logger))
        var isAccepting: Bool? {
            channel.options.last { $0.option is ChannelOptions.Types.AutoReadOption }?.value as? Bool
        }
        for _ in 0..<3 { channel.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept")) }
        #expect(isAccepting == false)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(999))
        #expect(isAccepting == false)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(isAccepting == true)
        // The error does not reach the handlers that end the server.
        try channel.throwIfErrorCaught()
        #expect(metrics.total("scrollback_accept_errors_total") == 3)
        #expect(log.lines.count == 1)
    }

    @Test func `A connection above the limit is closed and does not reach the server`() throws {
        let metrics = ServerMetrics()
        let limits = ConnectionLimits(
            maximum: 1, maximumPerAddress: nil, metrics: metrics, logger: LogRecorder().logger)
        let listener = EmbeddedChannel(
            handler: AcceptGate(limits: limits, metrics: metrics, logger: LogRecorder().logger))
        let children = (0..<2).map { _ in EmbeddedChannel() }
        for child in children {
            try child.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            listener.pipeline.fireChannelRead(child as any Channel)
        }
        #expect(try listener.readInbound(as: (any Channel).self) === children[0])
        #expect(try listener.readInbound(as: (any Channel).self) == nil)
        #expect(children[0].isActive && !children[1].isActive)
        _ = try children[0].finish(acceptAlreadyClosed: true)
        #expect(limits.total == 0)
    }

    @Test func `The descriptors leave a reserve, and a configured number above that is refused`() throws {
        #expect(DescriptorLimit.connections(of: 1024) == 832)
        #expect(DescriptorLimit.connections(of: 65_536) == 57_280)
        #expect(try DescriptorLimit.connections(configured: nil, of: 1024) == 832)
        #expect(try DescriptorLimit.connections(configured: 832, of: 1024) == 832)
        let error = #expect(throws: ChatError.self) {
            try DescriptorLimit.connections(configured: 833, of: 1024)
        }
        #expect(error?.parameter == "connections-max" && error?.limit == 832)
        #expect(error?.message.contains("LimitNOFILE") == true)
    }
}

@Suite struct OutboundBudgetTests {
    private final class Client: QueueingConnection {
        let isClosed = Mutex(false)
        func closeToFreeMemory() { isClosed.withLock { $0 = true } }
    }

    @Test func `The connections with the most queued bytes are closed until an eighth of the budget is free`() {
        let metrics = ServerMetrics()
        let budget = OutboundBudget(limit: 800, metrics: metrics)
        let clients = (0..<5).map { _ in Client() }
        for (client, bytes) in zip(clients, [100, 300, 50, 250, 100]) { budget.set(bytes, for: client) }
        #expect(budget.total == 800)
        #expect(clients.allSatisfy { !$0.isClosed.withLock(\.self) })
        budget.set(51, for: clients[2])
        #expect(clients.map { $0.isClosed.withLock(\.self) } == [false, true, false, false, false])
        #expect(budget.total == 501)
        #expect(metrics.total("scrollback_memory_closes_total") == 1)

        // What a closed connection still reports does not count, and closes no other connection.
        budget.set(5_000, for: clients[1])
        #expect(budget.total == 501)
        budget.remove(clients[1])
        #expect(budget.total == 501)
        for client in clients { budget.remove(client) }
        #expect(budget.total == 0)
        budget.set(700, for: clients[1])
        #expect(budget.total == 700)
    }
}

@Suite struct TransferPaceTests {
    @Test func `A transfer that pauses longer than the grace is too slow`() {
        var pace = TransferPace(rate: 1024, grace: 30)
        pace.waited(29.5)
        #expect(!pace.isExhausted)
        pace.waited(0.5)
        #expect(pace.isExhausted)
    }

    @Test func `A transfer at the minimum rate continues without end, and a slower one ends`() {
        var (steady, slow) = (TransferPace(rate: 1024, grace: 30), TransferPace(rate: 1024, grace: 30))
        var seconds = 0
        for second in 1...100_000 {
            steady.waited(1)
            steady.transferred(1024)
            #expect(!steady.isExhausted)
            if slow.isExhausted { continue }
            seconds = second
            slow.waited(1)
            slow.transferred(512)
        }
        #expect(slow.isExhausted && (58...62).contains(seconds), "\(seconds)")
    }

    @Test func `Bytes that arrived quickly don't pay for a long pause later`() {
        var pace = TransferPace(rate: 1024, grace: 30)
        pace.transferred(100 << 20)
        pace.waited(30)
        #expect(pace.isExhausted)
    }

    @Test func `A server without a minimum rate ends no transfer`() {
        var pace = TransferPace.unlimited
        pace.waited(1e9)
        pace.transferred(1)
        pace.waited(1e9)
        #expect(!pace.isExhausted)
    }
}
