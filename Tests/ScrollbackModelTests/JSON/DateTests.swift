import Foundation
import ScrollbackModel
import Testing

@Suite("ISO 8601")
struct DateTests {
    private func roundTrips(_ milliseconds: Int) throws {
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        let text = date.iso8601
        let second = milliseconds / 1000
        #expect(text.hasSuffix(String(format: ".%03dZ", milliseconds % 1000)), "\(milliseconds): \(text)")
        let back = try Date(iso8601: text, parameter: "sentAt")
        #expect(Timetoken(back).rawValue == UInt64(milliseconds) * 10_000, "\(milliseconds): \(text)")
        #expect(back.iso8601 == text)
        #expect(back == date)
        #expect(Int(back.timeIntervalSince1970.rounded(.down)) == second)
    }

    @Test("Every millisecond of one second survives a round trip")
    func everyMillisecond() throws {
        for millisecond in 0..<1_000 { try roundTrips(1_795_255_200_000 + millisecond) }
    }

    @Test("Any millisecond between 1970 and 2100 survives a round trip", arguments: 1...4)
    func randomMilliseconds(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<1_000 { try roundTrips(random.below(4_102_444_800_000)) }
    }

    @Test("A time is written in UTC with milliseconds and a year of four digits")
    func form() {
        #expect(Date(timeIntervalSince1970: 0).iso8601 == "1970-01-01T00:00:00.000Z")
        #expect(Date(timeIntervalSince1970: 1_795_255_200).iso8601 == "2026-11-21T10:00:00.000Z")
        #expect(Date(timeIntervalSince1970: 951_782_400.5).iso8601 == "2000-02-29T00:00:00.500Z")
        #expect(Date(timeIntervalSince1970: 4_102_444_799.999).iso8601 == "2099-12-31T23:59:59.999Z")
    }

    @Test(
        "Times are accepted with and without fractions and with offsets, and are rounded to the millisecond",
        arguments: [
            ("2026-11-21T10:00:00Z", 1_795_255_200.0), ("2026-11-21T10:00:00.5Z", 1_795_255_200.5),
            ("2026-11-21T12:00:00+02:00", 1_795_255_200.0), ("2026-11-21T10:00:00.1236Z", 1_795_255_200.124),
            ("2026-11-21T10:00:00.9999Z", 1_795_255_201.0), ("2028-02-29T00:00:00Z", 1_835_395_200.0),
            ("2000-02-29T00:00:00Z", 951_782_400.0),
        ])
    func reading(_ text: String, _ seconds: Double) throws {
        let date = try Date(iso8601: text, parameter: "sentAt")
        #expect(date == Date(timeIntervalSince1970: seconds))
    }

    @Test(
        "Every time that can be read can be written and read again",
        arguments: [
            "9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00.000Z", "1582-10-15T00:00:00.000Z",
            "1582-10-14T23:59:59.999Z", "1013-11-15T10:00:00.123Z", "0004-02-29T00:00:00.000Z",
            "1600-02-29T12:00:00.000Z", "1900-03-01T00:00:00.000Z",
        ])
    func edges(_ text: String) throws {
        let date = try Date(iso8601: text, parameter: "sentAt")
        #expect(date.iso8601 == text)
    }

    @Test("A date that can't be read is written as the nearest date that can be read")
    func nearestDates() {
        let last = "9999-12-31T23:59:59.999Z"
        #expect(Timetoken(rawValue: .max).date.iso8601 == last)
        #expect(Date(timeIntervalSince1970: .infinity).iso8601 == last)
        #expect(Date(timeIntervalSince1970: 1e300).iso8601 == last)
        #expect(Date(timeIntervalSince1970: .nan).iso8601 == "0001-01-01T00:00:00.000Z")
        #expect(Date(timeIntervalSince1970: -1e300).iso8601 == "0001-01-01T00:00:00.000Z")
    }

    @Test("Any day of eight centuries is read as Foundation writes it")
    func everyDay() throws {
        for day in stride(from: -100_000, through: 180_000, by: 37) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 3_723.004)
            #expect(try Date(iso8601: date.iso8601, parameter: "sentAt") == date)
        }
    }

    @Test(
        "The error for text that is not a time contains the parameter",
        arguments: [
            "", "yesterday", "2026-13-01T00:00:00Z", "2026-11-21", "10:00:00", "1795255200", "2026-11-21T10:00:00",
            "2026-02-29T00:00:00Z", "2026-02-30T00:00:00Z",
            "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T25:00:00Z",
            "2026-01-01T00:61:00Z",
            "2026-11-21T10:00:00.Z", "2026-11-21T10:00:00Zx", "2026-11-21 10:00:00Z", "2026-11-21T10:00:00+2",
            "٢٠٢٦-11-21T10:00:00Z",
            "9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.9999Z", "0001-01-01T00:00:00+00:01",
            "0000-06-01T00:00:00Z",
            "+2026-11-21T10:00:00Z", "2026-11-21T10:00:00.1234567890123456789Z",
        ])
    func refusals(_ text: String) {
        let error = #expect(throws: ChatError.self, "\(text)") { try Date(iso8601: text, parameter: "sentAt") }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == "sentAt")
    }
}
