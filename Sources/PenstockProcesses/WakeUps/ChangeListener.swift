import Dispatch
import Foundation
import PenstockCore
import Synchronization

/// Watches what other processes do, from the first time that a task of this one waits. A process that only enqueues never
/// does.
package final class ChangeListener: Sendable {
    private enum State {
        case idle
        case watching(stop: @Sendable () -> Void)
        case stopped
    }

    private let state = Mutex(State.idle)
    private let ended = Latch()
    private let isSure = Flag()
    private let database: String?
    private let folder: SharedFolder
    private let doorbell: Doorbell
    private let hearingPauseMilliseconds: Int32
    private let makePoller: @Sendable () -> sending any ChangePolling

    /// - Parameters:
    ///   - database: the database's file. The kernel tells when it loses its name, and when its write-ahead log is written to. `nil`: a
    ///     server has it.
    ///   - hearingPauseMilliseconds: lies between two times that it hears rings, where the kernel wakes it for them.
    ///   - makePoller: makes the poller of the thread that watches.
    package init(
        database: String?, folder: SharedFolder, doorbell: Doorbell,
        hearingPauseMilliseconds: Int32 = ChangeWatcher.hearingPauseMilliseconds,
        makePoller: @escaping @Sendable () -> sending any ChangePolling
    ) {
        self.database = database
        self.folder = folder
        self.doorbell = doorbell
        self.hearingPauseMilliseconds = hearingPauseMilliseconds
        self.makePoller = makePoller
    }

    /// Whether nothing happens that waiters would not be rung for. It is not so before the first look, nor when the
    /// kernel refuses to watch: waiters then have to look by themselves.
    package var hearsEverything: Bool { isSure.isRaised }

    /// Begins to pass on to the doorbell's tasks what happens.
    package func start() {
        state.withLock { state in
            guard case .idle = state, let stop = try? watch() else { return }
            state = .watching(stop: stop)
        }
    }

    /// Stops for good, soon.
    package func stop() {
        state.withLock { state in
            switch state {
            case .idle: ended.open()
            case .watching(let stop): stop()
            case .stopped: break
            }
            state = .stopped
        }
    }

    /// Stops for good, and returns when the file was let go.
    package func end() async {
        stop()
        await ended.waitThoughCancelled()
    }
}

#if os(Linux)
    extension ChangeListener {
        /// Begins to watch, on a thread that sleeps in the kernel until a process rings, a worker's file is closed, or it is
        /// time to look. Rings count from now on.
        ///
        /// - Returns: what ends it, to be called once.
        private func watch() throws -> @Sendable () -> Void {
            let notifications = Notifications(bell: doorbell.board.path)
            var ends: [Int32] = [-1, -1]
            guard let notifications, notifications.watch(folder.path, IN_CLOSE_WRITE),
                // Closed in child processes from the start: a worker's command with an end would keep the thread.
                socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0
            else {
                throw SystemErrors.failure("The doorbell cannot be watched; raise the system's limit on inotify", errno)
            }
            let (stopped, stopper) = (ends[0], ends[1])
            if let database { notifications.watch(database, Notifications.lossOfName) }
            doorbell.board.listen()
            let hearsWrites = watchWrites(notifications)
            let heard = doorbell.board.words
            do {
                try SystemThread.start("penstock watch", stackByteCount: 512 * 1024) { [self] in
                    let watcher = ChangeWatcher(
                        doorbell: doorbell, poller: makePoller(), isSure: isSure, heard: heard,
                        hearsWrites: hearsWrites)
                    run(watcher, notifications, stopped)
                    watcher.end()
                    close(stopped)
                    ended.open()
                }
            } catch {
                for end in ends { close(end) }
                throw error
            }
            return { close(stopper) }
        }

        /// Has the kernel say when the write-ahead log is next written to. Where a server has the database there is none to watch.
        @discardableResult
        private func watchWrites(_ notifications: Notifications) -> Bool {
            guard let database else { return true }
            return notifications.watch(database + "-wal", Notifications.nextWrite)
        }

        private func run(_ watcher: ChangeWatcher, _ notifications: Notifications, _ stopped: Int32) {
            while true {
                if watcher.untilLook <= .zero {
                    // It is heard once and then no more until the next look, however much is written. Before the look,
                    // so that what is written after it is heard.
                    watchWrites(notifications)
                    watcher.look()
                }
                var waited = [
                    pollfd(fd: notifications.descriptor, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: stopped, events: Int16(POLLIN), revents: 0),
                ]
                let pause = watcher.isAttending ? .zero : watcher.untilLook
                if poll(&waited, 2, pause > .zero ? Int32(pause / .milliseconds(1)) + 1 : 0) < 0 { continue }
                if waited[1].revents != 0 { return }
                if waited[0].revents != 0 {
                    let heard = notifications.read()
                    // Whatever the events say, any number of them is one ring: the board says what was rung for.
                    watcher.hear()
                    if heard.contains(.worker) { watcher.suspect() }
                    if heard.contains(.writeAheadLog) { watcher.expectCommit() }
                    if heard.contains(.database) { watcher.doubtFile() }
                    // A commit writes there and rings a moment later, and that ring is not to wait. The kernel says it once a look.
                    if heard == .writeAheadLog { continue }
                } else if watcher.isAttending {
                    watcher.attend()
                } else {
                    continue
                }
                // While rings come fast they are heard together. The first one was heard at once.
                if poll(&waited[1], 1, hearingPauseMilliseconds) > 0 { return }
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
        /// The kernel's number of the watch of the doorbell's file.
        private let bell: Int32

        /// Hears when the doorbell's file at the path `bell` is written to.
        init?(bell path: String) {
            descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            if descriptor < 0 { return nil }
            bell = inotify_add_watch(descriptor, path, UInt32(IN_MODIFY))
            if bell < 0 { return nil }
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
                heard.formUnion(self.heard(in: buffer[..<length]))
            }
        }

        /// Reads the kernel's records, https://man7.org/linux/man-pages/man7/inotify.7.html.
        private func heard(in events: ArraySlice<UInt8>) -> Heard {
            let headerSize = MemoryLayout<inotify_event>.size
            var heard: Heard = []
            var rest = events
            while rest.count >= headerSize {
                let header = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
                // The kernel had too many to tell all.
                if header.mask & UInt32(IN_Q_OVERFLOW) != 0 { return [.worker, .writeAheadLog, .database] }
                // The watch of the write-ahead log goes with its event. Only the doorbell is asked for the same.
                if header.mask & UInt32(IN_IGNORED) != 0 { heard.insert(.writeAheadLog) }
                if header.mask & UInt32(IN_MODIFY) != 0, header.wd != bell { heard.insert(.writeAheadLog) }
                if header.mask & Self.lossOfName != 0 { heard.insert(.database) }
                let name = rest.dropFirst(headerSize).prefix(Int(header.len))
                if name.starts(with: WorkerLock.prefix.utf8) { heard.insert(.worker) }
                rest = rest.dropFirst(headerSize + Int(header.len))
            }
            return heard
        }
    }
#else
    extension ChangeListener {
        /// Begins to watch on a queue of its own: the doorbell's file and a timer wake it. Rings count from now on.
        ///
        /// - Returns: what ends it, to be called once.
        private func watch() throws -> @Sendable () -> Void {
            let queue = DispatchQueue(label: "penstock watch")
            let descriptor = try folder.open(doorbell.board.path)
            doorbell.board.listen()
            let watcher = ChangeWatcher(
                doorbell: doorbell, poller: makePoller(), isSure: isSure, heard: doorbell.board.words,
                hearsWrites: false)
            let bell = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: [.write, .attrib], queue: queue)
            bell.setCancelHandler { close(descriptor) }
            return DispatchWatch.begin(watcher, bell: bell, on: queue, ended: ended)
        }
    }
#endif
