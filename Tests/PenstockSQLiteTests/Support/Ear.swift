import Foundation
import PenstockCore

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// A process that waits, without its thread: it hears when it is told to.
final class Ear {
    let doorbell: Doorbell
    var wakeups: Wakeups { doorbell.wakeups }
    let watch: ChangeWatcher

    init(_ path: String, time: any TimeSource = SystemTime()) throws {
        let side = try SharedFolder(besideDatabaseAt: path)
        doorbell = try Doorbell(side, time: time)
        doorbell.board.listen()
        let identity = try? FileIdentity(of: path)
        let lookout = ChangePoller(path: path, folder: side, time: SystemTime()) {
            try identity?.requireStill(at: path)
        }
        watch = ChangeWatcher(
            doorbell: doorbell, poller: lookout, isSure: Flag(), heard: doorbell.board.words, hearsWrites: true)
    }
}
