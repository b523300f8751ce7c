@testable import PenstockCLI

extension Guardians {
    /// Calls `body` with guardians, and ends them all before it returns.
    static func use<Result: Sendable>(_ body: (Guardians) async throws -> Result) async throws -> Result {
        let guardians = Guardians()
        return try await guardians.use { try await body(guardians) }
    }
}
