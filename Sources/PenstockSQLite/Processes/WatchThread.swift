import Foundation
import PenstockCore
import Synchronization

#if os(Linux)
    /// The thread of a ``Watch``, asleep in the kernel until somebody rings, a worker's file is closed, or it is time
    /// to look.
    final class WatchThread: Sendable {
        private let stopper: Stopper
        private let end = ThreadEnd()

        /// Watches until `stop()`. Rings count from now on.
        init(_ folder: SideFolder, doorbell: Doorbell, watch: sending Watch) throws {
            let notifications = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            var ends: [Int32] = [-1, -1]
            guard notifications >= 0, inotify_add_watch(notifications, folder.doorbell, UInt32(IN_MODIFY)) >= 0,
                inotify_add_watch(notifications, folder.path, UInt32(IN_CLOSE_WRITE)) >= 0,
                // Closed in child processes from the start: a worker's command with an end would keep the thread.
                socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0
            else {
                let reason = String(cString: strerror(errno))
                if notifications >= 0 { close(notifications) }
                throw PenstockError(
                    .storage, "The doorbell cannot be watched (\(reason)); raise the system's limit on inotify.")
            }
            doorbell.listen()
            stopper = Stopper(ends[1])
            let stopped = ends[0]
            let passed = Passed(watch)
            let thread = Thread { [end] in
                if let watch = passed.take() { Self.run(watch, notifications, stopped) }
                close(notifications)
                close(stopped)
                end.come()
            }
            thread.name = "penstock watch"
            thread.stackSize = 512 * 1024
            thread.start()
        }

        /// Tells the thread to end.
        func stop() {
            stopper.pull()
        }

        /// Returns when the thread has let go of everything.
        func ended() async {
            await end.wait()
        }

        private static func run(_ watch: Watch, _ notifications: Int32, _ stopped: Int32) {
            defer { watch.end() }
            var buffer = [UInt8](repeating: 0, count: 4096)
            var lastLook = ContinuousClock.now
            while true {
                var waited = [
                    pollfd(fd: notifications, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: stopped, events: Int16(POLLIN), revents: 0),
                ]
                let pause = Duration.milliseconds(watch.pauseMilliseconds) - (ContinuousClock.now - lastLook)
                let count = poll(&waited, 2, pause > .zero ? Int32(pause / .milliseconds(1)) + 1 : 0)
                if count < 0 { continue }
                if waited[1].revents != 0 { return }
                if waited[0].revents != 0 {
                    var isSuspicious = false
                    while true {
                        let length = read(notifications, &buffer, buffer.count)
                        if length <= 0 { break }
                        if speaksOfWorker(buffer[..<length]) { isSuspicious = true }
                    }
                    // Whatever the events say, any number of them is one ring: the board says what was rung for.
                    watch.hear()
                    if isSuspicious {
                        watch.suspect()
                        watch.look()
                        lastLook = .now
                    }
                }
                if ContinuousClock.now - lastLook >= .milliseconds(watch.pauseMilliseconds) {
                    watch.look()
                    lastLook = .now
                }
            }
        }

        /// Whether one of the kernel's events is about a worker's file, or it had too many to tell all.
        private static func speaksOfWorker(_ events: ArraySlice<UInt8>) -> Bool {
            let headerSize = MemoryLayout<inotify_event>.size
            var rest = events
            while rest.count >= headerSize {
                let header = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
                if header.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
                let name = rest.dropFirst(headerSize).prefix(Int(header.len))
                if name.starts(with: WorkerLock.prefix.utf8) { return true }
                rest = rest.dropFirst(headerSize + Int(header.len))
            }
            return false
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

    /// Says when a thread has ended.
    private final class ThreadEnd: Sendable {
        private struct State {
            var hasCome = false
            var waiters: [CheckedContinuation<Void, Never>] = []
        }

        private let state = Mutex(State())

        func come() {
            let waiters = state.withLock { state in
                state.hasCome = true
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        func wait() async {
            await withCheckedContinuation { continuation in
                let hasCome = state.withLock { state in
                    if !state.hasCome { state.waiters.append(continuation) }
                    return state.hasCome
                }
                if hasCome { continuation.resume() }
            }
        }
    }
#else
    /// A ``Watch`` on a queue of its own: the doorbell's file and a timer wake it.
    final class WatchThread: Sendable {
        private let queue = DispatchQueue(label: "penstock watch")
        private let source: any DispatchSourceFileSystemObject
        private let timer: any DispatchSourceTimer

        /// Watches until `stop()`. Rings count from now on.
        init(_ folder: SideFolder, doorbell: Doorbell, watch: sending Watch) throws {
            let descriptor = try folder.open(folder.doorbell)
            doorbell.listen()
            source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: [.write, .attrib], queue: queue)
            timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now(), repeating: .milliseconds(Int(Watch.lookMilliseconds)))
            let shared = Shared(watch)
            source.setEventHandler { shared.use { $0.hear() } }
            source.setCancelHandler { close(descriptor) }
            timer.setEventHandler { shared.use { $0.look() } }
            timer.setCancelHandler { shared.end() }
            source.activate()
            timer.activate()
        }

        /// Ends the watch.
        func stop() {
            source.cancel()
            timer.cancel()
        }

        /// Returns when it has let go of everything.
        func ended() async {
            await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        }

        private final class Shared: Sendable {
            private let watch: Mutex<Watch?>

            init(_ watch: sending Watch) { self.watch = Mutex(watch) }

            func use(_ body: (Watch) -> Void) { watch.withLock { watch in if let watch { body(watch) } } }

            func end() {
                watch.withLock { watch in
                    watch?.end()
                    watch = nil
                }
            }
        }
    }
#endif
