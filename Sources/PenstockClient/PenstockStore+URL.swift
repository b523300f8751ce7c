import Foundation
public import Penstock
import PenstockCore
import PenstockProcesses

extension PenstockStore {
    /// Opens the store of a server, `penstock serve`, from another process or another machine.
    ///
    /// Everything that a store can do goes on there, but for transactions together with tables of one's own. See ``RemoteStore`` for what
    /// is different with a network in between.
    ///
    /// ```swift
    /// let store = try await PenstockStore.open(url: "http://mill.example:7700")
    /// let mail = try await store.queue("mail")
    /// try await mail.enqueue("hello")
    /// ```
    ///
    /// - Parameters:
    ///   - url: `http://HOST:PORT`, `https://HOST` behind a proxy that speaks TLS, or `unix:PATH` for a socket of this machine.
    ///   - token: what the server is shown; `nil`: what `PENSTOCK_TOKEN` of the environment says, and nothing where that says nothing.
    ///   - options: as of a file. Those of files and schemas mean nothing here.
    /// - Throws: `PenstockError` with code `invalidInput` (no such address or token), `wrongRelease` (no server of this release there),
    ///   `unreachable` or `forbidden`. `CancellationError` when the task is cancelled first: by that a program bounds the wait for a server that takes the
    ///   connection and says nothing, which is given up after a minute, as in every call.
    public static func open(
        url: String, token: String? = nil, options: Options = Options()
    ) async throws -> PenstockStore {
        let token = token ?? ProcessInfo.processInfo.environment["PENSTOCK_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        let store = try await RemoteStore.open(
            url, token: token, worker: try WorkerName(options.workerName ?? ProcessName.hostAndProcess),
            isReadOnly: options.access == .readOnly, time: options.time, random: options.random)
        return PenstockStore(store, options: options)
    }
}
