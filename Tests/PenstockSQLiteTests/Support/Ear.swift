import Foundation
import PenstockCore

@testable import PenstockProcesses
@testable import PenstockSQLite

/// A process that waits, without its thread: it hears when it is told to.
final class Ear {
    let doorbell: Doorbell
    let wakeups: Wakeups
    let watch: ChangeWatcher

    init(_ path: String, time: any TimeSource = SystemTime()) throws {
        let side = try SharedFolder(besideDatabaseAt: path)
        let doorbell = try Doorbell(side, time: time)
        doorbell.listen()
        let wakeups = Wakeups { doorbell.listen(to: .news) }
        (self.doorbell, self.wakeups) = (doorbell, wakeups)
        let lookout = ChangePoller(path: path, identity: try? FileIdentity(of: path), folder: side, time: SystemTime())
        watch = ChangeWatcher(doorbell: doorbell, wakeups: wakeups, poller: lookout, isSure: Flag(), hearsWrites: true)
    }
}
