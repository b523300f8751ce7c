import Foundation
import Penstock
import Testing

/// The guide to errors has every code that there is, and no other.
@Suite struct ErrorTableTests {
    @Test func everyCodeHasItsRow() throws {
        let source = try Documents.text("Sources/PenstockCore/PenstockError.swift")
        let codes = source.matches(of: #/public static let (\w+) = Code\(/#).map { String($0.output.1) }
        let rows = try Documents.text("Sources/Penstock/Penstock.docc/Errors.md")
            .matches(of: #/\n\| `(\w+)` \|/#).map { String($0.output.1) }
        #expect(codes.count > 20)
        #expect(Set(rows) == Set(codes))
        #expect(rows.count == codes.count)
    }
}
