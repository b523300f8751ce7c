import Foundation
import PenstockTestKit
import Testing

/// What the program must show with real processes, real files and real kills. One proof at a time: they measure, and
/// each has more processes than most machines have cores.
@Suite(.serialized, .timeLimit(.minutes(10)))
enum Proofs {
    /// Multiplies how much the proofs do; `PENSTOCK_PROOF_SCALE` says it. 1 is small enough for every run of the tests.
    static let scale: Int = {
        let text = ProcessInfo.processInfo.environment["PENSTOCK_PROOF_SCALE"] ?? ""
        return max(1, Int(text) ?? 1)
    }()

    /// Calls `body` with numbers to choose by. When it records an issue, the seed is in it: set `PENSTOCK_PROOF_SEED`
    /// to it, and the choices are the same again (how processes share the machine is not).
    static func withSeed(_ body: (SeededRandom) async throws -> Void) async throws {
        let text = ProcessInfo.processInfo.environment["PENSTOCK_PROOF_SEED"] ?? ""
        let random = SeededRandom(seed: UInt64(text) ?? UInt64.random(in: 1...UInt64(UInt32.max)))
        try await Self.$seed.withValue(random.seed) {
            try await body(random)
        }
    }

    /// The seed of the proof that runs.
    @TaskLocal static var seed: UInt64?

    /// Words for a comment of an issue.
    static var repeatable: Comment {
        seed.map { "PENSTOCK_PROOF_SEED=\($0) repeats the choices" } ?? "no choices were made"
    }
}
