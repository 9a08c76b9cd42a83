import ScrollbackModel
import Testing

@Suite("Hexadecimal")
struct HexadecimalTests {
    @Test("Each byte has two digits in lower case")
    func digits() {
        #expect(([0, 9, 10, 15, 16, 159, 160, 255] as [UInt8]).hexadecimal == "00090a0f109fa0ff")
        #expect([UInt8]().hexadecimal.isEmpty)
    }
}
