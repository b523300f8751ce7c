package import PenstockCore

/// For how long somebody still waits.
package struct Patience: Sendable {
    package let time: any TimeSource
    private let start: Int64
    private let length: Int64

    package init(_ duration: Duration, _ time: any TimeSource) {
        self.time = time
        start = time.boot.microseconds
        length = duration.wholeMicroseconds
    }

    /// What is left; `nil` when the time is over, or the clock, as that of a server, was set back.
    package var left: Duration? {
        let passed = time.boot.microseconds - start
        return passed >= 0 && passed < length ? .microseconds(length - passed) : nil
    }
}
