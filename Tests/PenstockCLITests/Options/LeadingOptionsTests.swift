import Testing

@testable import PenstockCLI

@Suite struct LeadingOptionsTests {
    @Test(arguments: [
        ("status", "status"),
        ("--db x status", "status --db x"),
        ("--db=x status --watch", "status --watch --db=x"),
        ("--json --db x queue list", "queue list --json --db x"),
        // The last one counts, wherever it stands.
        ("--db x status --db y", "status --db y"),
        ("--db=x --json status --db=y", "status --db=y --json"),
        ("--db x --db=y status", "status --db=y"),
        ("--db x status --db", "status --db --db x"),
        ("--db x work q -- cat --db y", "work q --db x -- cat --db y"),
        ("status --db x", "status --db x"),
        ("--db", "--db"),
        ("--db x", "--db x"),
        ("--json", "--json"),
        ("--other --db x status", "--other --db x status"),
        ("", ""),
    ])
    func theyFollowTheCommand(_ written: String, _ parsed: String) {
        let words = written.split(separator: " ").map(String.init)
        #expect(LeadingOptions.moved(words).joined(separator: " ") == parsed)
    }

    @Test(
        arguments: [
            ("status --db=x --db y", "y"), ("status --db y --db=x", "x"), ("status --db x --db", "x"),
            ("work q -- cat --db y", nil), ("status", nil),
        ] as [(String, String?)])
    func theLastStoreCountsHoweverItIsSpelled(_ written: String, _ store: String?) {
        #expect(FileOptions.value(of: "--db", in: written.split(separator: " ").map(String.init)) == store)
    }
}
