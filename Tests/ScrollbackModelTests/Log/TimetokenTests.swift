import ContractRows
import Foundation
import ScrollbackModel
import Testing

@Suite("Timetoken and Epoch")
struct TimetokenTests {
    @Test("The text form is the decimal number", .rows(229), arguments: [0, 1, 17_637_000_000_000_000, UInt64.max])
    func text(_ value: UInt64) throws {
        #expect(Timetoken(rawValue: value).description == String(value))
        #expect(try Timetoken(String(value)).rawValue == value)
        #expect(try Epoch(String(value)).rawValue == value)
        #expect(Epoch(rawValue: value).description == String(value))
    }

    @Test(
        "The error for text that is not a 64-bit number contains the parameter",
        arguments: ["", " 1", "+1", "-1", "-0", "1.0", "0x1", "18446744073709551616", "1e3", "١"])
    func refusals(_ text: String) {
        let time = #expect(throws: ChatError.self) { try Timetoken(text, parameter: "before") }
        #expect(time?.code == .invalidParameter)
        #expect(time?.parameter == "before")
        let epoch = #expect(throws: ChatError.self) { try Epoch(text) }
        #expect(epoch?.parameter == "epoch")
    }

    @Test("A date converts to the first tick of its millisecond and back", .rows(229))
    func dates() {
        var random = SplitMix64(seed: 5)
        for _ in 0..<5_000 {
            let milliseconds = UInt64(random.below(4_102_444_800_000))
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            #expect(Timetoken(date).rawValue == milliseconds * 10_000)
            let within = Timetoken(rawValue: milliseconds * 10_000 + UInt64(random.below(10_000)))
            #expect(within.date == date)
        }
    }

    @Test("Dates outside the range of timetokens are clamped to it")
    func extremes() {
        #expect(Timetoken(Date(timeIntervalSince1970: -1)).rawValue == 0)
        #expect(Timetoken(.distantPast).rawValue == 0)
        #expect(Timetoken(.distantFuture) > Timetoken(Date(timeIntervalSince1970: 4e9)))
        #expect(Timetoken(Date(timeIntervalSince1970: 1e30)) >= Timetoken(.distantFuture))
        #expect(Timetoken(Date(timeIntervalSince1970: .infinity)) >= Timetoken(.distantFuture))
        #expect(Timetoken(Date(timeIntervalSince1970: .nan)).rawValue == 0)
    }

    @Test("Timetokens increase strictly when the clock stops or steps back")
    func advancing() {
        var last = Timetoken(rawValue: 0)
        for now in [100, 100, 99, 5, 101, 102, 1_000, 1, 1] as [UInt64] {
            let next = last.advanced(to: Timetoken(rawValue: now))
            #expect(next > last)
            #expect(next.rawValue >= now)
            last = next
        }
        #expect(last.rawValue == 1_002)
    }
}
