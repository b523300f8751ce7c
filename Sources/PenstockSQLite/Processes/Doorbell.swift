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
        descriptor = try folder.open(folder.doorbell)
        // The one byte is written now: on a full disk there may be no room for it later, and a ring needs none then.
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_size == 0 { ring() }
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
        private let stopper: Stopper

        /// Listens until `stop()`, and rings `wakeups` for every queue at each ring.
        init(_ folder: SideFolder, wakeups: Wakeups) throws {
            let notifications = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            var ends: [Int32] = [-1, -1]
            guard notifications >= 0, inotify_add_watch(notifications, folder.doorbell, UInt32(IN_MODIFY)) >= 0,
                // Closed in child processes from the start: a worker's command with an end would keep the thread.
                socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0
            else {
                let reason = String(cString: strerror(errno))
                if notifications >= 0 { close(notifications) }
                throw PenstockError(
                    .storage, "The doorbell cannot be watched (\(reason)); raise the system's limit on inotify.")
            }
            stopper = Stopper(ends[1])
            let stopped = ends[0]
            let thread = Thread { Self.listen(notifications, stopped, wakeups) }
            thread.name = "penstock doorbell"
            thread.stackSize = 256 * 1024
            thread.start()
        }

        /// Ends the thread, which closes what it listens to.
        func stop() {
            stopper.pull()
        }

        private static func listen(_ notifications: Int32, _ stopped: Int32, _ wakeups: Wakeups) {
            defer {
                close(notifications)
                close(stopped)
            }
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                var waited = [
                    pollfd(fd: notifications, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: stopped, events: Int16(POLLIN), revents: 0),
                ]
                guard poll(&waited, 2, -1) > 0 else { continue }
                if waited[1].revents != 0 { return }
                // What the events say is of no interest: any number of them is one ring.
                while read(notifications, &buffer, buffer.count) > 0 {}
                wakeups.ring(nil)
            }
        }
    }

    /// One end of a pair of sockets. Closing it is the sign to stop, and comes once, at the latest with the object's end.
    private final class Stopper: Sendable {
        private let descriptor: Mutex<Int32?>

        init(_ descriptor: Int32) {
            self.descriptor = Mutex(descriptor)
        }

        deinit {
            pull()
        }

        func pull() {
            let open = descriptor.withLock { descriptor in
                defer { descriptor = nil }
                return descriptor
            }
            if let open { close(open) }
        }
    }
#else
    /// Passes the rings of other processes on to this process's waiters.
    final class DoorbellListener: Sendable {
        private let source: any DispatchSourceFileSystemObject

        init(_ folder: SideFolder, wakeups: Wakeups) throws {
            let descriptor = try folder.open(folder.doorbell)
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
