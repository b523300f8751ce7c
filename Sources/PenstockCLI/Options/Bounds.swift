import ArgumentParser

/// Checks numbers at the door.
enum Bounds {
    /// Throws when `number` is there and out of `range`.
    static func check(_ number: Int?, _ range: ClosedRange<Int>, _ option: String) throws {
        guard let number, !range.contains(number) else { return }
        throw ValidationError("\(option) is \(range.lowerBound) to \(range.upperBound), not \(number).")
    }
}
