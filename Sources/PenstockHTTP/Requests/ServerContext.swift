package import Hummingbird
package import NIOCore
package import PenstockCore

/// What a request carries on its way through the server.
package struct ServerContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Whoever makes it; set before any route is reached.
    package var principal = Principal.nobody
    /// The token that was shown, or signed with, and among which ones it was found.
    package var shown: (secret: String, tokens: Tokens)?
    /// Whether it came through a socket in the file system, which no page of the web can have a browser speak to.
    package let isLocalSocket: Bool
    let channel: any Channel
    /// That of the connection.
    package var eventLoop: any EventLoop { channel.eventLoop }

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        isLocalSocket = source.channel.localAddress?.pathname != nil
    }

    /// The principal by the tokens of now, which can be others than those of its beginning; `nil`: its token is none any more.
    package var principalNow: Principal? {
        guard let shown else { return principal }
        return shown.tokens.principal(showing: shown.secret)
    }

    /// Throws a problem when a token was taken back meanwhile, or is for other queues now. To be asked before something is begun anew,
    /// and not of what was done.
    package func requireStill(_ scope: Scope, _ queues: [QueueName]) throws(Problem) {
        guard let principalNow else { throw .unauthorized }
        for queue in queues { try principalNow.require(scope, queue) }
    }

    /// The same of what goes on with something that was begun; the problem then also says what became of it.
    package func requireStill(_ scope: Scope, _ queues: [QueueName], orSay outcome: String) throws(Problem) {
        do { try requireStill(scope, queues) } catch {
            throw Problem(error.status, code: error.code, "\(error.detail) \(outcome)")
        }
    }

    /// Whether it is known who makes it.
    package var isKnown: Bool { principal != .nobody }
}

extension Principal {
    /// Somebody who may do nothing.
    fileprivate static let nobody = Principal(name: "nobody", scopes: [])
}
