import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import Testing

@Suite("OPPO batches")
struct OPPOBatchTests {
    /// Sends pushes to OPPO devices at the same time. Four of them go alone and the others in batches.
    ///
    /// - Parameter answer: Returns the response to a batch for the given devices.
    /// - Returns: The outcome of each push, and the devices of each request.
    private func batch(
        _ devices: [String], answer: @escaping @Sendable ([String]) throws -> PushResponse
    ) async throws -> (outcomes: [String: PushOutcome], requests: [[String]]) {
        let requests = Shared<[[String]]>([])
        let transport = ScriptedTransport { request in
            if request.url.hasSuffix("/auth") {
                return PushResponse(status: 200, body: Array(#"{"code":0,"data":{"auth_token":"t"}}"#.utf8))
            }
            let form = request.form
            let isBatch = request.url.hasSuffix("/unicast_batch")
            let json = try #require(isBatch ? form["messages"] : form["message"].map { "[\($0)]" })
            let messages = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]]
            let devices = try #require(messages).compactMap { $0["target_value"] as? String }
            #expect(isBatch == (devices.count > 1))
            requests.update { $0.append(devices) }
            // The delay is long enough for the other pushes to arrive.
            if requests.value.count <= 4 { try await Task.sleep(for: .milliseconds(200)) }
            if isBatch { return try answer(devices) }
            return PushResponse(
                status: 200, body: Array(#"{"code":0,"message":"Success","data":{"messageId":"m"}}"#.utf8))
        }
        let services = PushServices(over: transport)
        let credentials = try RawJSON(#"{"appKey":"key","masterSecret":"secret"}"#)
        let outcomes = await withTaskGroup(of: (String, PushOutcome).self) { group in
            for device in devices {
                group.addTask {
                    (device, await services.send(notification(service: .oppo, token: device), with: credentials))
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        return (outcomes, requests.value)
    }

    @Test("Several pushes share a request, and each gets its own outcome")
    func pushesShareARequest() async throws {
        let devices = (0..<60).map { "CN_\($0)" }
        let refused = ["CN_21": (10000, "bad id"), "CN_22": (33, ""), "CN_23": (41, "w"), "CN_24": (11, "")]
        let (outcomes, requests) = try await batch(devices) { devices in
            // OPPO promises no order.
            let data = devices.reversed().map { device in
                guard let (code, words) = refused[device] else {
                    return #"{"messageId":"m","registrationId":"\#(device)"}"#
                }
                return #"{"registrationId":"\#(device)","errorCode":\#(code),"errorMessage":"\#(words)"}"#
            }
            let body = #"{"code":0,"message":"Success","data":[\#(data.joined(separator: ","))]}"#
            return PushResponse(status: 200, body: Array(body.utf8))
        }
        #expect(requests.count < 30 && requests.flatMap { $0 }.sorted() == devices.sorted(), "\(requests)")
        let together = Set(requests.filter { $0.count > 1 }.flatMap { $0 })
        let expected: [String: PushOutcome] = [
            "CN_21": .gone(since: nil), "CN_22": .later(after: 3600, "33"), "CN_23": .refused("41 w"),
            "CN_24": .later(after: 300, "11"),
        ]
        for device in devices {
            let wanted = together.contains(device) ? expected[device] ?? .sent : .sent
            #expect(outcomes[device] == wanted, "\(device)")
        }
    }

    @Test(
        "Pushes of a refused batch are sent one by one, and pushes of a throttled batch wait together",
        arguments: [
            (200, #"{"code":41}"#, PushOutcome.sent), (200, #"{"code":10000}"#, .sent), (200, #"{"code":32}"#, .sent),
            (403, "<html>", .sent), (200, #"{"code":-2}"#, .later(after: 60, "-2")),
            (200, #"{"code":11}"#, .later(after: 300, "11")), (429, "", .later(after: 60, "status 429")),
            (502, "<html>", .later(after: 10, "status 502")),
        ])
    func refusedBatchIsSentOneByOne(_ status: Int, _ body: String, _ outcome: PushOutcome) async throws {
        let devices = (0..<60).map { "CN_\($0)" }
        let (outcomes, requests) = try await batch(devices) { _ in
            PushResponse(status: status, body: Array(body.utf8))
        }
        let together = Set(requests.filter { $0.count > 1 }.flatMap { $0 })
        let alone = Set(requests.filter { $0.count == 1 }.flatMap { $0 })
        #expect(!together.isEmpty)
        #expect(alone.intersection(together) == (outcome == .sent ? together : []))
        for device in devices {
            #expect(outcomes[device] == (together.contains(device) ? outcome : .sent), "\(device)")
        }
    }

    @Test("Pushes of a batch without an answer are retried later, and not one by one at once")
    func unansweredBatchIsRetriedLater() async throws {
        struct Unreachable: Error {}
        let devices = (0..<60).map { "CN_\($0)" }
        let (outcomes, requests) = try await batch(devices) { _ in throw Unreachable() }
        #expect(requests.flatMap { $0 }.sorted() == devices.sorted())
        for device in requests.filter({ $0.count > 1 }).flatMap({ $0 }) {
            #expect(outcomes[device] == .later(after: nil, "no answer: Unreachable()"))
        }
    }
}
