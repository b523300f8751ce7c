import Foundation
import PenstockCore

@testable import PenstockSQLite

/// A process that waits, without its thread: it hears when it is told to.
final class Ear {
    let doorbell: Doorbell
    let wakeups: Wakeups
    let watch: Watch

    init(_ path: String, time: any TimeSource = SystemTime()) throws {
        let side = try SideFolder(besideDatabaseAt: path)
        let doorbell = try Doorbell(side, time: time)
        doorbell.listen()
        let wakeups = Wakeups { doorbell.listen(to: .news) }
        (self.doorbell, self.wakeups) = (doorbell, wakeups)
        let lookout = Lookout(path: path, folder: side, time: SystemTime())
        watch = Watch(doorbell: doorbell, wakeups: wakeups, lookout: lookout, isSure: Flag(), hearsWrites: true)
    }
}
