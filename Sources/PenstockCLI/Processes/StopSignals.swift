internal import CPenstockSystem
import Dispatch

/// SIGTERM and SIGINT, for commands that have something to do before they end.
enum StopSignals {
    /// How long after the first signal another one is the first one still: timeout(1) signals a process and then its whole group, and means
    /// one.
    static let firstTime = Duration.milliseconds(250)

    static let all = [SIGTERM, SIGINT]

    /// Calls `handle` for each of these signals that comes, one call after the other. From now on they do not end the process any more.
    static func follow(_ numbers: [Int32] = all, _ handle: @escaping @Sendable (Int32) -> Void) {
        let queue = DispatchQueue(label: "penstock.signals")
        for number in numbers {
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // The source lives as long as its handler, and the handler as long as the process: it is never cancelled.
            source.setEventHandler { [source] in
                _ = source
                handle(number)
            }
            source.activate()
        }
    }

    /// Has the first signal that comes end the process as it would by itself, once a sentence is said. A second one does not wait for that. What
    /// the process was started to ignore it ignores.
    ///
    /// - Parameter sentence: may block. `nil`: there is nothing to say.
    static func end(saying sentence: @escaping @Sendable () -> String?) {
        let heeded = all.filter { penstock_ignores_signal($0) == 0 }
        follow(heeded) { number in
            DispatchQueue.global().asyncAfter(deadline: .now() + firstTime / .seconds(1)) {
                for number in heeded { _ = signal(number, SIG_DFL) }
            }
            let said = sentence()
            if ErrorOutput.isTerminal { ErrorOutput.transient("") }
            if let said { ErrorOutput.say(said) }
            ProgramEnd.by(number)
        }
    }
}
