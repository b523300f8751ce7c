public import Testing

/// One rule of `MessageStore`, as a test that every store must pass.
///
/// A store's test target runs all of them with one test:
///
/// ```swift
/// @Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.all)
/// func conforms(_ rule: ConformanceCase) async throws {
///     try await rule.run(on: MyHarness())
/// }
/// ```
///
/// Each run wants a harness of its own, with nothing in it yet. A broken rule is reported at the line of the case that
/// found it, in the sources of this suite: they say what was expected and why.
public struct ConformanceCase: Sendable, CustomTestStringConvertible {
    /// What the rule is about, such as `claim`.
    public let subject: String
    /// The rule, in a few words.
    public let name: String
    private let body: @Sendable (Bench) async throws -> Void

    init(_ subject: String, _ name: String, _ body: @escaping @Sendable (Bench) async throws -> Void) {
        self.subject = subject
        self.name = name
        self.body = body
    }

    /// Rules of one subject, by their names.
    typealias Rules = KeyValuePairs<String, @Sendable (Bench) async throws -> Void>

    static func rules(of subject: String, _ rules: Rules) -> [ConformanceCase] {
        rules.map { ConformanceCase(subject, $0.key, $0.value) }
    }

    /// The subject and the rule.
    public var testDescription: String { "\(subject): \(name)" }

    /// Puts a store to this test.
    ///
    /// - Parameters:
    ///   - harness: an empty store.
    ///   - sourceLocation: where an error is reported that the store was not to throw.
    public func run(
        on harness: some StoreHarness, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let bench = Bench(harness)
        do {
            try await body(bench)
        } catch {
            Issue.record(error, "\(testDescription)", sourceLocation: sourceLocation)
        }
        await bench.closeAll()
    }
}
