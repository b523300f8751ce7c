import Testing

/// `penstock schedule next`, which needs no file.
@Suite(.timeLimit(.minutes(5)))
struct ScheduleNextTests {
    @Test func aSpecIsShownAsTheMomentsThatItMeans() async throws {
        let tool = try Tool.empty()
        let paris = try await tool.succeed([
            "schedule", "next", "--spec", "30 2 * * *", "--zone", "Europe/Paris", "--after", "2030-03-30", "--count",
            "3",
        ])
        // Clocks are put forward over half past two on 31 March 2030.
        #expect(paris.lines == ["2030-03-30T01:30:00Z", "2030-03-31T01:00:00Z", "2030-04-01T00:30:00Z"])
        let every = try await tool.succeed([
            "schedule", "next", "--spec", "@every 90s", "--after", "2030-01-01T00:00:10Z", "--count", "2", "--json",
        ])
        #expect(
            try every.objects().map { $0["due"].text } == [
                "2030-01-01T00:01:40.000000Z", "2030-01-01T00:03:10.000000Z",
            ])
        #expect(try await tool.succeed(["schedule", "next", "--spec", "@daily"]).lines.count == 5)
    }

    @Test func whatCannotBeIsSaidInASentence() async throws {
        let tool = try Tool.empty()
        try await tool.fail(
            ["schedule", "next", "--spec", "0 0 30 2 *"], with: 64, saying: "'0 0 30 2 *' would never fire")
        try await tool.fail(
            ["schedule", "next", "--spec", "@daily", "--zone", "../x"], with: 64, saying: "A time zone is written")
        try await tool.fail(
            ["schedule", "next", "--spec", "@daily", "--zone", "Europe/Atlantis"], with: 64,
            saying: "There is no time zone 'Europe/Atlantis'")
        try await tool.fail(["schedule", "next", "--spec", "@daily", "--count", "0"], with: 64, saying: "--count")
    }
}
