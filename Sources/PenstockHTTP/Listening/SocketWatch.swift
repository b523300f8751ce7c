package import Logging
package import PenstockCore
package import PenstockFormats
import PenstockProcesses
import ServiceLifecycle
import Synchronization

/// Looks whether the sockets in the file system where a server listens are still there: a cleaner of old files, say, may have removed one.
/// Nobody reaches the server there any more, and nothing at the path tells of it.
///
/// While the server has another address the log says so, once. When it has none it ends, so that a supervisor starts it again.
package final class SocketWatch: Service {
    /// How long lies between two looks.
    private static let interval = Duration.seconds(5)

    private struct State {
        /// The sockets that were there at the last look.
        var paths: Set<String> = []
        /// At how many addresses the server can be reached.
        var reachableCount: Int
    }

    private let state: Mutex<State>
    private let time: any TimeSource
    private let logger: Logger

    /// - Parameters:
    ///   - addresses: where the server listens.
    ///   - time: by which it waits for the next look.
    ///   - logger: where it says that a socket is gone.
    package init(_ addresses: [ListenAddress], time: any TimeSource, logger: Logger) {
        state = Mutex(State(reachableCount: addresses.count))
        self.time = time
        self.logger = logger
    }

    /// Whether one of the addresses is in the file system: nothing is to be looked at else.
    package static func isFor(_ addresses: [ListenAddress]) -> Bool {
        addresses.contains { if case .unix = $0 { true } else { false } }
    }

    /// To be told of each address once connections are taken there.
    package func isReady(_ address: ListenAddress) {
        if case .unix(let path) = address { state.withLock { _ = $0.paths.insert(path) } }
    }

    /// Looks until it is told to stop.
    ///
    /// - Throws: `PenstockError` with code `storage` when the server cannot be reached any more.
    package func run() async throws {
        try await cancelWhenGracefulShutdown { [self] in
            while (try? await time.sleep(for: Self.interval)) != nil { try look() }
        }
    }

    private func look() throws {
        let (gone, isReachable) = state.withLock { state in
            let gone = state.paths.filter { SocketFile.isGone($0) }.sorted()
            state.paths.subtract(gone)
            state.reachableCount -= gone.count
            return (gone, state.reachableCount > 0)
        }
        guard let first = gone.first else { return }
        guard isReachable else {
            throw PenstockError(
                .storage,
                "The socket \(first) was removed, and nobody reaches this server any more; it ends, so that it can be started again."
            )
        }
        for path in gone {
            logger.error("The socket \(path) was removed, and nobody reaches this server there; start it again.")
        }
    }
}
