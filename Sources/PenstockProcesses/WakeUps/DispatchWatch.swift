// A debug build for Linux, which needs it for nothing, has it as well: so the compiler and the tests see it there.
#if !os(Linux) || DEBUG
    import Dispatch
    import PenstockCore

    /// What wakes a watcher where there is no inotify: a bell, which is a source of Dispatch, and a timer.
    enum DispatchWatch {
        /// Has `watcher` hear when `bell` goes off, and look at its pace, from now on.
        ///
        /// - Parameters:
        ///   - bell: was not activated yet, and calls its handlers on `queue`.
        ///   - queue: is serial. The watcher is called on it alone.
        ///   - ended: is opened when the watcher has let go of the file.
        /// - Returns: what ends it.
        static func begin(
            _ watcher: sending ChangeWatcher, bell: any DispatchSourceProtocol, on queue: DispatchQueue, ended: Latch
        ) -> @Sendable () -> Void {
            let watched = Watched(watcher)
            let timer = DispatchSource.makeTimerSource(queue: queue)
            bell.setEventHandler { watched.use { $0.hear() } }
            timer.schedule(deadline: .now(), repeating: .nanoseconds(Int(ChangeWatcher.pace / .nanoseconds(1))))
            timer.setEventHandler { watched.use { $0.look() } }
            timer.setCancelHandler {
                watched.end()
                ended.open()
            }
            bell.activate()
            timer.activate()
            let sources = Sources(bell: bell, timer: timer)
            return { sources.cancel() }
        }

        // Unchecked: any thread may cancel a source, which not every version of Dispatch says of its protocols.
        private struct Sources: @unchecked Sendable {
            let bell: any DispatchSourceProtocol
            let timer: any DispatchSourceTimer

            func cancel() {
                bell.cancel()
                timer.cancel()
            }
        }

        // Unchecked: only the handlers on the one queue, which is serial, touch the watcher.
        private final class Watched: @unchecked Sendable {
            private var watcher: ChangeWatcher?

            init(_ watcher: sending ChangeWatcher) { self.watcher = watcher }

            func use(_ body: (ChangeWatcher) -> Void) {
                if let watcher { body(watcher) }
            }

            func end() {
                watcher?.end()
                watcher = nil
            }
        }
    }
#endif
