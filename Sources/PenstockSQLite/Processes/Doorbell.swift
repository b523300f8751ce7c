import Foundation
import PenstockCore
import Synchronization

/// Tells the other processes on this machine that something was committed.
///
/// A ring is a write to a file in the side folder; who listens has the kernel watch that file. A ring that is lost
/// costs latency and never a message: who waits looks again by itself.
final class Doorbell: Sendable {
    private let descriptor: Int32

    init(_ folder: SideFolder) throws {
        descriptor = try SideFolder.open(folder.doorbell)
    }

    deinit {
        close(descriptor)
    }

    /// Rings. Called after COMMIT, when other processes can see what was written.
    func ring() {
        var one: UInt8 = 1
        pwrite(descriptor, &one, 1, 0)
    }
}

#if os(Linux)
    /// Passes the rings of other processes on to this process's waiters: one thread, asleep in the kernel.
    final class DoorbellListener: Sendable {
        private let stopper: Int32

        /// Listens until `stop()`, and rings `wakeups` for every queue at each ring.
        init(_ folder: SideFolder, wakeups: Wakeups) throws {
            let notifications = inotify_init1(Int32(IN_NONBLOCK.rawValue | IN_CLOEXEC.rawValue))
            let stopper = eventfd(0, Int32(EFD_CLOEXEC.rawValue | EFD_NONBLOCK.rawValue))
            guard notifications >= 0, stopper >= 0,
                inotify_add_watch(notifications, folder.doorbell, UInt32(IN_MODIFY)) >= 0
            else {
                if notifications >= 0 { close(notifications) }
                if stopper >= 0 { close(stopper) }
                throw PenstockError(
                    .storage,
                    "The doorbell cannot be watched (\(String(cString: strerror(errno)))); raise the limit on inotify.")
            }
            self.stopper = stopper
            let thread = Thread { Self.listen(notifications, stopper, wakeups) }
            thread.name = "penstock doorbell"
            thread.stackSize = 256 * 1024
            thread.start()
        }

        /// Ends the thread. The thread closes both descriptors when it is through.
        func stop() {
            var one: UInt64 = 1
            write(stopper, &one, 8)
        }

        private static func listen(_ notifications: Int32, _ stopper: Int32, _ wakeups: Wakeups) {
            defer {
                close(notifications)
                close(stopper)
            }
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                var waited = [
                    pollfd(fd: notifications, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: stopper, events: Int16(POLLIN), revents: 0),
                ]
                guard poll(&waited, 2, -1) > 0 else { continue }
                if waited[1].revents != 0 { return }
                // What the events say is of no interest: any number of them is one ring.
                while read(notifications, &buffer, buffer.count) > 0 {}
                wakeups.ring(nil)
            }
        }
    }
#else
    /// Passes the rings of other processes on to this process's waiters.
    final class DoorbellListener: Sendable {
        private let source: any DispatchSourceFileSystemObject

        init(_ folder: SideFolder, wakeups: Wakeups) throws {
            let descriptor = try SideFolder.open(folder.doorbell)
            source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: [.write, .attrib], queue: .global())
            source.setEventHandler { wakeups.ring(nil) }
            source.setCancelHandler { close(descriptor) }
            source.activate()
        }

        /// Ends the watch.
        func stop() {
            source.cancel()
        }
    }
#endif
