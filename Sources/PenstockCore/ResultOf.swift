extension Result where Failure == any Error {
    /// What `body` gives or throws, for a caller that has something to await in either case: a `defer` cannot.
    package static func of(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Success
    ) async -> Self {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}
