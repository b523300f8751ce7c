import PenstockCore
import PenstockTestKit
public import Testing

/// Long random sequences of operations, with several processes that come, crash and go, clocks that jump, and queues
/// that change under the messages.
///
/// At every step the rules that hold always are checked: depths are what a count says, no message is in two places,
/// a capacity is held but for what comes back, numbers rise, and nothing is lost. Two stores that live the same life
/// must also give the same answers and hold the same records.
public enum RandomLives {
    /// Lets two stores live the same life, and compares them all along. Ends at the first difference.
    ///
    /// - Parameters:
    ///   - seed: what the life is made of. The same seed makes the same life; a failure names it.
    ///   - steps: how long the life is.
    ///   - first: an empty store, usually the one in memory.
    ///   - second: another empty store.
    ///   - groups: whether messages have groups, and queues limits.
    ///   - rates: whether queues have rates as well, and are shared fairly.
    ///   - sourceLocation: where a difference is reported.
    public static func compare(
        seed: UInt64, steps: Int, _ first: some StoreHarness, _ second: some StoreHarness, groups: Bool = false,
        rates: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        second.time.set(wall: first.time.now)
        try await live(seed: seed, steps: steps, [first, second], groups: groups, rates: rates, sourceLocation)
    }

    /// Lets one store live a life, and checks it all along.
    ///
    /// - Parameters:
    ///   - seed: what the life is made of. The same seed makes the same life; a failure names it.
    ///   - steps: how long the life is.
    ///   - harness: an empty store.
    ///   - sourceLocation: where an error is reported that the store was not to throw.
    public static func check(
        seed: UInt64, steps: Int, _ harness: some StoreHarness, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await live(seed: seed, steps: steps, [harness], groups: false, rates: false, sourceLocation)
    }

    private static func live(
        seed: UInt64, steps: Int, _ harnesses: [any StoreHarness], groups: Bool, rates: Bool,
        _ sourceLocation: SourceLocation
    ) async throws {
        var worlds: [LifeWorld] = []
        for harness in harnesses { worlds.append(try await LifeWorld(harness)) }
        let source = StepSource(
            random: SeededRandom(seed: seed), filters: SeededRandom(seed: ~seed), hasGroups: groups, hasRates: rates)
        var history: [String] = []

        /// Tells the life so far, and what is wrong with it.
        func report(_ what: String) {
            Issue.record(
                "Seed \(seed), step \(history.count): \(what)\nLast steps:\n\(history.suffix(15).joined(separator: "\n"))",
                sourceLocation: sourceLocation)
        }

        var first = StepSource.queues.map { Step.configure(by: 0, $0, .create(source.policy(), ifAbsent: false)) }
        if groups { first.append(.setLimit(by: 0, StepSource.sharedLimit, 3)) }
        for number in 1...steps {
            let step =
                first.popLast() ?? source.next(leaseCount: worlds[0].leases.count, last: worlds[0].last)
            history.append("\(number): \(step)")
            var answers: [String] = []
            for world in worlds { answers.append(try await world.perform(step)) }
            let differ = Set(answers).count > 1
            if differ || number % 10 == 0 || number == steps {
                var contents: [[String]] = []
                for world in worlds { contents.append(try await world.contents(isLast: differ || number == steps)) }
                if differ || Set(contents).count > 1 {
                    let found = differences(of: contents).joined(separator: "\n")
                    report(
                        differ
                            ? "the answers differ:\n\(answers.joined(separator: "\n"))\nand of what is there:\n\(found)"
                            : "the contents differ:\n\(found)")
                    break
                }
            }
            let violations = worlds.flatMap(\.violations)
            if !violations.isEmpty {
                report(violations.joined(separator: "\n"))
                break
            }
        }
        for world in worlds { await world.closeAll() }
    }
}

/// The lines that are not in all of `contents`.
private func differences(of contents: [[String]]) -> [String] {
    let common = contents.dropFirst().reduce(Set(contents[0])) { $0.intersection($1) }
    return contents.enumerated().flatMap { number, lines in
        lines.filter { !common.contains($0) }.map { "store \(number + 1): \($0)" }
    }
}

/// Random lives as part of the suite: always the same ones, so that a store passes or fails the same way each time.
enum RandomLifeRules {
    static let cases =
        lives("", 1...5) + lives("with groups ", 1...5, groups: true)
        + lives("with rates ", [1, 2, 3, 4, 5, 10, 23], groups: true, rates: true)

    private static func lives(
        _ kind: String, _ seeds: some Sequence<Int>, groups: Bool = false, rates: Bool = false
    ) -> [ConformanceCase] {
        seeds.map { seed in
            ConformanceCase("random lives", "\(kind)go as those of the store in memory, seed \(seed)") { bench in
                try await RandomLives.compare(
                    seed: UInt64(seed), steps: 250, InMemoryHarness(), bench, groups: groups, rates: rates)
            }
        }
    }
}
