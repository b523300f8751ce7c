/// One of a spec's fields: what it is called, and what it can hold.
struct SpecField: Sendable {
    /// As sentences call it.
    var name: String
    /// The least and the greatest value.
    var range: ClosedRange<Int>
    /// The greatest number that can be written for one of them: 7 is Sunday as well.
    var writtenMax: Int
    /// Names for values, of which the first is that of `range`'s first.
    var names: [String]

    private init(_ name: String, _ range: ClosedRange<Int>, writtenMax: Int? = nil, names: [String] = []) {
        self.name = name
        self.range = range
        self.writtenMax = writtenMax ?? range.upperBound
        self.names = names
    }

    static let second = SpecField("second", 0...59)
    static let minute = SpecField("minute", 0...59)
    static let hour = SpecField("hour", 0...23)
    static let day = SpecField("day of the month", 1...31)
    static let month = SpecField(
        "month", 1...12,
        names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"])
    static let weekday = SpecField(
        "day of the week", 0...6, writtenMax: 7, names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])

    /// What can be written in it, for a sentence.
    var allowed: String {
        let numbers = "\(range.lowerBound) to \(writtenMax)"
        guard let first = names.first, let last = names.last else { return numbers }
        return "\(numbers) or \(first) to \(last)" + (writtenMax > range.upperBound ? ", and 0 and 7 are Sunday" : "")
    }

    /// The number that `word` stands for, as it is written: 7 is still 7. `nil` when it is none of this field's.
    func number(_ word: Substring) -> Int? {
        if let index = names.firstIndex(of: word.uppercased()) { return range.lowerBound + index }
        guard let number = Int(digits: word), (range.lowerBound...writtenMax).contains(number) else { return nil }
        return number
    }

    /// The value that a number stands for, which may be beyond the range: after the greatest comes the least.
    func value(_ number: Int) -> Int {
        (number - range.lowerBound) % range.count + range.lowerBound
    }
}

extension Int {
    /// The number that `text` writes in one to nine digits, and nothing else.
    init?(digits text: some StringProtocol) {
        guard (1...9).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        self.init(text)
    }
}
