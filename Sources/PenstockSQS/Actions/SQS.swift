import HTTPTypes
package import Hummingbird
import Logging
import NIOCore
package import Penstock
import PenstockCore
package import PenstockHTTP

/// The queues for clients of Amazon SQS: its JSON protocol, at any path.
///
/// A request is one of Amazon's when its header `X-Amz-Target` says so. Everything else passes by.
package struct SQS: RouterMiddleware {
    private static let targetPrefix = "AmazonSQS."
    /// Bytes of a request: a batch of the largest messages, whose characters may each be written as six; all that is no message is
    /// small.
    private static let sendingBytesMax = 8 * 1024 * 1024
    private static let otherBytesMax = 256 * 1024

    private let store: PenstockStore
    private let directory: QueueDirectory
    private let moves = MoveTasks()
    private let tokens: Tokens?
    private let time: any TimeSource

    /// - Parameter tokens: with what requests are signed; `nil`: any signature is taken, as only this machine can reach the server.
    package init(store: PenstockStore, tokens: Tokens?) {
        time = store.time
        directory = QueueDirectory(store: store.storage, time: time)
        self.store = store
        self.tokens = tokens
    }

    /// Adds the face to the routes, behind whatever middleware they have by then.
    package func add(to router: Router<ServerContext>) { router.add(middleware: self) }

    /// Whether a request is one of a client of Amazon SQS, which shows by its signature who makes it.
    package static func isAskedFor(_ request: Request) -> Bool {
        request.method == .post && request.headers[.amazonTarget]?.hasPrefix(targetPrefix) == true
    }

    package func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        guard Self.isAskedFor(request), let target = request.headers[.amazonTarget] else {
            return try await next(request, context)
        }
        return try await answer(request, context, to: String(target.dropFirst(Self.targetPrefix.count)))
    }

    /// Apart from what passes other requests on: those that wait would keep the room that this takes.
    private func answer(_ request: Request, _ context: ServerContext, to action: String) async throws -> Response {
        let bytesMax = action.hasPrefix("SendMessage") ? Self.sendingBytesMax : Self.otherBytesMax
        do {
            if request.isCoded { throw Refusal.codedBody }
            // Whoever has shown a token, or need not show any, is known already.
            var context = context
            var principal = context.principal
            let body: ByteBuffer
            if let tokens, principal.scopes.isEmpty {
                let signature = Signature(request)
                // No large body is read for somebody whom nobody knows.
                let signer = try signature.signer(tokens, now: time.now)
                body = try await request.wholeBody(bytesMax: bytesMax)
                principal = try signature.verify(body: body, by: signer)
                context.principal = principal
                context.shown = tokens.token(named: principal.name).map { ($0.secret, tokens) }
            } else {
                body = try await request.wholeBody(bytesMax: bytesMax)
            }
            let call = Call(
                queues: store, directory: directory, moves: moves, principal: principal, request: request,
                context: context, body: body)
            return try await call.perform(action)
        } catch let refusal as Refusal {
            return refusal.response
        } catch let problem as Problem where [.unauthorized, .forbidden].contains(problem.status) {
            return Refusal(
                "InvalidClientTokenId", "The security token included in the request is invalid.", status: .forbidden
            ).response
        } catch let error as PenstockError {
            let refusal = Refusal(error)
            if !refusal.isSendersFault {
                context.logger.error("A request failed: \(error.message)", metadata: ["code": "\(error.code.rawValue)"])
            }
            return refusal.response
        } catch let problem as Problem where problem.status == .contentTooLarge {
            return Refusal(
                "RequestEntityTooLarge", "Such a request has at most \(bytesMax) bytes.", status: .contentTooLarge
            ).response
        } catch is CancellationError {
            return Refusal(
                "ServiceUnavailable", "The server is about to stop; ask again.", status: .serviceUnavailable,
                isSendersFault: false
            ).response
        }
    }
}
