import Penstock

/// A line on standard error that says how far a long input, or a copy, is. Short ones never show it.
@MainActor
final class Progress {
    private static let quiet = Duration.milliseconds(500)
    private static let interval = Duration.milliseconds(100)
    private nonisolated static let barColumns = 24

    private let bytesTotal: Int?
    private let isShown: Bool
    private let time: any TimeSource
    private let began: BootTime
    private var drawn: BootTime?

    init(bytesTotal: Int? = nil, isShown: Bool, time: any TimeSource) {
        self.bytesTotal = bytesTotal
        self.isShown = isShown
        self.time = time
        began = time.boot
    }

    /// Draws the line again, when it is time to.
    func update(lines: Int, bytes: Int) {
        draw { Self.text(lines: lines, bytes: bytes, of: bytesTotal, after: $0) }
    }

    /// Draws the line of a copy again, when it is time to.
    func update(_ copied: CopyProgress) {
        draw { _ in
            let part = copied.total == 0 ? 1 : Double(copied.messages) / Double(copied.total)
            return "\(Self.bar(part))  \(copied.messages) of \(copied.total) messages"
        }
    }

    private func draw(_ text: (_ elapsed: Duration) -> String) {
        guard isShown else { return }
        let now = time.boot
        let wait = drawn == nil ? Self.quiet : Self.interval
        guard now.microseconds - (drawn ?? began).microseconds >= wait.wholeMicroseconds else { return }
        drawn = now
        let elapsed = Duration.microseconds(now.microseconds - began.microseconds)
        ErrorOutput.transient(text(elapsed))
    }

    func clear() {
        if drawn != nil { ErrorOutput.transient("") }
        drawn = nil
    }

    nonisolated static func text(lines: Int, bytes: Int, of total: Int?, after elapsed: Duration) -> String {
        let seconds = max(Double(elapsed.wholeMicroseconds) / 1_000_000, 0.001)
        let rate = "\(lines) lines, \(Int(Double(lines) / seconds)) a second"
        guard let total, total > 0 else { return "\(rate), \(bytes / 1_048_576) MiB" }
        return "\(bar(min(1, Double(bytes) / Double(total))))  \(rate)"
    }

    private nonisolated static func bar(_ part: Double) -> String {
        let full = Int(part * Double(barColumns))
        let bar = String(repeating: "#", count: full) + String(repeating: ".", count: barColumns - full)
        return "[\(bar)] \(Int(part * 100)) %"
    }
}
