import Foundation
import Penstock
import Testing

/// The guide to errors says with which status a command ends for each code. It has every code that there is, as `ErrorTableTests` of
/// PenstockDocsTests sees to, and so has the table by which `FailureTests` looks at them.
@Suite struct StatusGuideTests {
    @Test func everyCodeIsLookedAtAndHasTheStatusOfTheGuide() throws {
        let root = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let guide = try String(
            contentsOf: root.appending(path: "Sources/Penstock/Penstock.docc/Errors.md"), encoding: .utf8)
        let rows = guide.matches(of: #/\n\| `(\w+)` \|.*\| (\d+) \|/#).map { "\($0.output.1) \($0.output.2)" }
        #expect(rows.count > 30)
        #expect(Set(rows) == Set(FailureTests.statuses.map { "\($0.0.rawValue) \($0.1)" }))
    }
}
