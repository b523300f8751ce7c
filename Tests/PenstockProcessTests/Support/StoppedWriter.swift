import Foundation
import GRDB
import PenstockTestKit
import Testing

/// A process that was stopped in the middle of a transaction, as by a debugger or Ctrl-Z: nobody else can write.
struct StoppedWriter {
    private let child: Child

    /// Starts a producer for the queue "q", and stops it when it holds the lock.
    init(_ site: Site) async throws {
        let input = Array(String(repeating: "x\n", count: 1_000_000).utf8)
        child = try await site.start(["enqueue", "q", "--lines"], input: site.descriptor(of: input))
        var configuration = Configuration()
        configuration.busyMode = .immediateError
        let probe = try DatabaseQueue(path: site.file, configuration: configuration)
        while true {
            // At whatever moment it is stopped, it may hold nothing; then it goes on for a while.
            try #require(child.stop(), "It has ended before it was stopped in a transaction.")
            do {
                try probe.inDatabase { database in
                    try database.execute(sql: "BEGIN IMMEDIATE")
                    try database.execute(sql: "ROLLBACK")
                }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                break
            }
            child.send(SIGCONT)
            await giveWay()
        }
        try probe.close()
    }

    /// Ends it. What it had begun is undone.
    func kill() async throws {
        child.send(SIGKILL)
        _ = try await child.end
    }
}
