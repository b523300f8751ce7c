import Foundation

/// A day of next year, in UTC: for what a database takes to be ahead, which goes by the machine's own clock.
package struct ComingDay: Sendable {
    /// The day as ISO 8601 writes it.
    package let text: String
    /// When it begins, in microseconds since 1970.
    package let start: Int64

    package init(month: Int, day: Int) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let year = calendar.component(.year, from: Date()) + 1
        guard let date = calendar.date(from: DateComponents(year: year, month: month, day: day)) else {
            fatalError("There is no such day.")
        }
        text = "\(year)" + [month, day].map { $0 < 10 ? "-0\($0)" : "-\($0)" }.joined()
        start = Int64(date.timeIntervalSince1970) * 1_000_000
    }
}
