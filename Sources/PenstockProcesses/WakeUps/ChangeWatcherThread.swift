import Foundation
import PenstockCore
import Synchronization

#if os(Linux)
    /// The thread of a ``ChangeWatcher``, asleep in the kernel until a process rings, a worker's file is closed, or it is
    /// time to look.
    package final class ChangeWatcherThread: Sendable {
        private let stopper: Stopper
        private let end = Latch()

        /// Watches until `stop()`. Rings count from now on.
        package init(
            _ folder: SharedFolder, doorbell: Doorbell, database: String,
            watch make: (_ hearsWrites: Bool) -> sending ChangeWatcher
        ) throws {
            let notifications = Notifications()
            var ends: [Int32] = [-1, -1]
            guard let notifications, notifications.watch(doorbell.board.path, IN_MODIFY),
                notifications.watch(folder.path, IN_CLOSE_WRITE),
                // Closed in child processes from the start: a worker's command with an end would keep the thread.
                socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0
            else {
                throw SystemErrors.failure("The doorbell cannot be watched; raise the system's limit on inotify", errno)
            }
            notifications.watch(database, Notifications.lossOfName)
            let writeAheadLog = database + "-wal"
            doorbell.listen()
            stopper = Stopper(ends[1])
            let stopped = ends[0]
            let passed = Passed(make(notifications.watch(writeAheadLog, Notifications.nextWrite)))
            do {
                try SystemThread.start("penstock watch", stackByteCount: 512 * 1024) { [end] in
                    if let watch = passed.take() { Self.run(watch, notifications, writeAheadLog, stopped) }
                    close(stopped)
                    end.open()
                }
            } catch {
                passed.take()?.end()
                close(stopped)
                throw error
            }
        }

        /// Tells the thread to end.
        package func stop() {
            stopper.pull()
        }

        /// Returns when the thread has let go of everything.
        package func ended() async {
            await end.waitThoughCancelled()
        }

        private static func run(
            _ watch: ChangeWatcher, _ notifications: Notifications, _ writeAheadLog: String, _ stopped: Int32
        ) {
            defer { watch.end() }
            while true {
                if watch.untilLook() <= .zero {
                    // It is heard once and then no more until the next look, however much is written. Before the look,
                    // so that what is written after it is heard.
                    notifications.watch(writeAheadLog, Notifications.nextWrite)
                    watch.look()
                }
                var waited = [
                    pollfd(fd: notifications.descriptor, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: stopped, events: Int16(POLLIN), revents: 0),
                ]
                let pause = watch.isAttending ? .zero : watch.untilLook()
                if poll(&waited, 2, pause > .zero ? Int32(pause / .milliseconds(1)) + 1 : 0) < 0 { continue }
                if waited[1].revents != 0 { return }
                if waited[0].revents != 0 {
                    let heard = notifications.read()
                    // Whatever the events say, any number of them is one ring: the board says what was rung for.
                    watch.hear()
                    if heard.contains(.worker) { watch.suspect() }
                    if heard.contains(.writeAheadLog) { watch.expectCommit() }
                    if heard.contains(.database) { watch.doubtFile() }
                } else if watch.isAttending {
                    watch.attend()
                } else {
                    continue
                }
                // While rings come fast they are heard together. The first one was heard at once.
                if poll(&waited[1], 1, ChangeWatcher.hearingPauseMilliseconds) > 0 { return }
            }
        }
    }

    /// What the kernel says of files.
    private final class Notifications: Sendable {
        /// What it spoke of.
        struct Heard: OptionSet {
            let rawValue: Int
            static let worker = Heard(rawValue: 1)
            static let writeAheadLog = Heard(rawValue: 2)
            static let database = Heard(rawValue: 4)
        }

        /// The next write to a file, and no other.
        static let nextWrite = UInt32(IN_MODIFY) | UInt32(IN_ONESHOT)

        /// A file was removed, moved, or another one has got its name. Its last name goes without a deletion as long as it is open.
        static let lossOfName = UInt32(IN_ATTRIB) | UInt32(IN_MOVE_SELF) | UInt32(IN_DELETE_SELF)

        let descriptor: Int32

        init?() {
            descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            if descriptor < 0 { return nil }
        }

        deinit {
            close(descriptor)
        }

        /// Hears of such events from now on.
        @discardableResult
        func watch(_ path: String, _ events: some BinaryInteger) -> Bool {
            inotify_add_watch(descriptor, path, UInt32(truncatingIfNeeded: events)) >= 0
        }

        /// Takes all that there is to hear.
        func read() -> Heard {
            var heard: Heard = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let length = Foundation.read(descriptor, &buffer, buffer.count)
                if length <= 0 { return heard }
                heard.formUnion(Self.heard(in: buffer[..<length]))
            }
        }

        /// Reads the kernel's records, https://man7.org/linux/man-pages/man7/inotify.7.html.
        private static func heard(in events: ArraySlice<UInt8>) -> Heard {
            let headerSize = MemoryLayout<inotify_event>.size
            var heard: Heard = []
            var rest = events
            while rest.count >= headerSize {
                let header = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
                // The kernel had too many to tell all.
                if header.mask & UInt32(IN_Q_OVERFLOW) != 0 { return [.worker, .writeAheadLog, .database] }
                // The watch of the write-ahead log goes with its event.
                if header.mask & UInt32(IN_IGNORED) != 0 { heard.insert(.writeAheadLog) }
                if header.mask & Self.lossOfName != 0 { heard.insert(.database) }
                let name = rest.dropFirst(headerSize).prefix(Int(header.len))
                if name.starts(with: WorkerLock.prefix.utf8) { heard.insert(.worker) }
                rest = rest.dropFirst(headerSize + Int(header.len))
            }
            return heard
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

    /// Hands something to a thread, once.
    private final class Passed<Value>: Sendable {
        private let value: Mutex<Value?>

        init(_ value: sending Value) {
            self.value = Mutex(value)
        }

        func take() -> sending Value? {
            value.withLock { $0.take() }
        }
    }
#else
    /// A ``ChangeWatcher`` on a queue of its own: the doorbell's file and a timer wake it.
    package final class ChangeWatcherThread: Sendable {
        private let queue = DispatchQueue(label: "penstock watch")
        private let source: any DispatchSourceFileSystemObject
        private let timer: any DispatchSourceTimer

        /// Watches until `stop()`. Rings count from now on.
        package init(
            _ folder: SharedFolder, doorbell: Doorbell, database: String,
            watch make: (_ hearsWrites: Bool) -> sending ChangeWatcher
        ) throws {
            let descriptor = try folder.open(doorbell.board.path)
            doorbell.listen()
            let watch = make(false)
            source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: [.write, .attrib], queue: queue)
            timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now(), repeating: .nanoseconds(Int(ChangeWatcher.pace / .nanoseconds(1))))
            let shared = Shared(watch)
            source.setEventHandler { shared.use { $0.hear() } }
            source.setCancelHandler { close(descriptor) }
            timer.setEventHandler { shared.use { $0.look() } }
            timer.setCancelHandler { shared.end() }
            source.activate()
            timer.activate()
        }

        /// Ends the watch.
        package func stop() {
            source.cancel()
            timer.cancel()
        }

        /// Returns when it has let go of everything.
        package func ended() async {
            await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        }

        private final class Shared: Sendable {
            private let watch: Mutex<ChangeWatcher?>

            init(_ watch: sending ChangeWatcher) { self.watch = Mutex(watch) }

            func use(_ body: (ChangeWatcher) -> Void) { watch.withLock { watch in if let watch { body(watch) } } }

            func end() {
                watch.withLock { watch in
                    watch?.end()
                    watch = nil
                }
            }
        }
    }
#endif
