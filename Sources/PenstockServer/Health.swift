import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// What supervisors ask: whether the process lives, and whether it can do its work. They show no token.
struct Health {
    let store: PenstockStore

    @Sendable static func isAskedFor(_ request: Request) -> Bool {
        request.isGetOrHead && (request.uri.path == "/healthz" || request.uri.path == "/readyz")
    }

    func add(to router: Router<ServerContext>) {
        router.get("healthz") { _, _ in Response.json(.object(["status": .string("ok")])) }
        router.get("readyz") { _, _ in
            do {
                // Workers that may still settle have to be let through.
                if let move = try await store.storage.storeMove(), move.phase != .draining {
                    let code = PenstockError.Code.storeMoved.rawValue
                    throw Problem(.serviceUnavailable, code: code, "\(move.anonymousStatement).")
                }
                return Response.json(.object(["status": .string("ok")]))
            } catch let error as PenstockError {
                // Whoever asks shows no token, and learns no more than that.
                throw Problem(
                    .serviceUnavailable, code: error.code.rawValue, "The store does not answer.", retryAfterSeconds: 1)
            }
        }
    }
}
