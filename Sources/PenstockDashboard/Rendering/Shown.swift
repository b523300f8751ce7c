import PenstockCore
import PenstockFormats

/// How values look on a page.
enum Shown {
    /// A whole number with its thousands apart.
    static func count(_ number: Int) -> String {
        let digits = String(number.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append("\u{202F}") }
            text.append(digit)
        }
        return number < 0 ? "−" + text : text
    }

    /// A rate in messages a second: with a decimal where it is small.
    static func rate(_ perSecond: Double) -> String {
        if perSecond == 0 { return "0" }
        if perSecond >= 100 { return count(Int(perSecond.rounded())) }
        let text = decimal(perSecond)
        return text == "0" ? "<0.1" : text
    }

    /// With one decimal, and that only where it says something.
    static func decimal(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }

    /// How long ago a moment was, or in how long it is.
    static func age(_ moment: Timestamp, _ now: Timestamp) -> String {
        let age = now - moment
        if age < .zero { return "in \(seconds(.zero - age))" }
        return age < .seconds(1) ? "now" : "\(seconds(age)) ago"
    }

    /// A duration of which no more than seconds matter.
    static func seconds(_ duration: Duration) -> String {
        duration < .seconds(1) ? "<1s" : DurationText.short(.seconds(duration.components.seconds))
    }

    /// A duration with two digits that matter.
    static func latency(_ duration: Duration) -> String {
        let microseconds = Double(max(0, duration.wholeMicroseconds))
        for (unit, size) in [("µs", 1.0), ("ms", 1000.0)] where microseconds < size * 995 {
            let value = microseconds / size
            return value < 9.95 && size > 1
                ? "\((value * 10).rounded() / 10)\(unit)" : "\(Int(value.rounded()))\(unit)"
        }
        return microseconds < 9_950_000
            ? "\((microseconds / 100_000).rounded() / 10)s"
            : DurationText.short(.seconds(Int64(microseconds / 1_000_000)))
    }

    /// A moment for a template: `at` for programs and titles, `shown` for the line, `ago`.
    static func time(_ moment: Timestamp, _ now: Timestamp) -> Fields {
        [
            "at": TimeText.format(moment), "shown": TimeText.short(moment).replacing("T", with: " "),
            "ago": age(moment, now),
        ]
    }

    /// A state for a template: its word, and the mark that is beside it, so that it is told without colour.
    static func state(_ state: MessageState) -> Fields {
        let mark =
            switch state {
            case .pending: "◌"
            case .scheduled: "◷"
            case .blocked: "◫"
            case .ready: "○"
            case .leased: "◐"
            case .done: "●"
            case .dead: "✕"
            case .dropped: "▽"
            case .cancelled: "⊘"
            }
        return ["word": state.rawValue, "mark": mark]
    }

    /// How far work has come: the percent, where they were told, and the text.
    static func progress(_ progress: MessageProgress) -> String {
        (progress.fraction.map { "\(Int(($0 * 100).rounded())) % " } ?? "") + progress.text
    }

    /// Bytes in the unit that suits them.
    static func bytes(_ number: Int) -> String {
        if number < 1024 { return "\(number) B" }
        let tenths = number * 10 / (number < 1_048_576 ? 1024 : 1_048_576)
        return "\(tenths / 10).\(tenths % 10) \(number < 1_048_576 ? "KiB" : "MiB")"
    }
}
