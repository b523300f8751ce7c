package import PenstockCore

/// The code of the `PenstockError` that `body` throws; `nil` when it throws none.
package func errorCode(_ body: () async throws -> Void) async -> PenstockError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? PenstockError)?.code
    }
}
