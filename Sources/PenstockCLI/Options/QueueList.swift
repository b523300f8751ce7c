import ArgumentParser
import Penstock
import PenstockFormats

/// Queues with commas between them, each with a weight if it is given one: `mail:3,sms:1`.
struct QueueList: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var name: QueueName
        var weight: Int?
    }

    var entries: [Entry]

    /// A comma or a colon that belongs to a name has a backslash before it. What follows a name's last colon is a weight only where
    /// it is a number.
    ///
    /// - Throws: ``Failure``, or `PenstockError` for what is no name.
    init(_ text: String) throws {
        var entries: [Entry] = []
        for word in Self.words(of: text) {
            guard !word.name.isEmpty || text.isEmpty else {
                throw Failure(.usage, "a queue is missing before, between or after the commas; write QUEUE,QUEUE.")
            }
            let name = try QueueName(word.name)
            if let weight = word.weight {
                guard let number = Int(weight), QueueOrder.weightRange.contains(number) else {
                    let range = QueueOrder.weightRange
                    throw Failure(
                        .usage,
                        "the weight of '\(Escape.text(name.text))' is \(range.lowerBound) to \(range.upperBound), not \(weight)."
                    )
                }
                entries.append(Entry(name: name, weight: number))
            } else {
                entries.append(Entry(name: name))
            }
            guard entries.count(where: { $0.name == name }) == 1 else {
                throw Failure(.usage, "the queue '\(Escape.text(name.text))' is there twice; name each queue once.")
            }
        }
        self.entries = entries
    }

    var names: [QueueName] { entries.map(\.name) }

    /// A name, and the digits after its last colon.
    private struct Word {
        var name = ""
        var weight: String?
    }

    private static func words(of text: String) -> [Word] {
        var words: [Word] = []
        // A character, and whether a backslash makes it a part of the name.
        var word: [(character: Character, isPlain: Bool)] = []
        var rest = text[...]
        while let first = rest.popFirst() {
            if first == "\\", let next = rest.first, ",:\\".contains(next) {
                word.append((next, true))
                rest.removeFirst()
            } else if first == "," {
                words.append(split(word))
                word = []
            } else {
                word.append((first, false))
            }
        }
        return words + [split(word)]
    }

    private static func split(_ word: [(character: Character, isPlain: Bool)]) -> Word {
        let digits = word.reversed().prefix { $0.character.isASCII && $0.character.isWholeNumber }.count
        let colon = word.count - digits - 1
        guard digits > 0, colon >= 0, word[colon].character == ":", !word[colon].isPlain else {
            return Word(name: String(word.map(\.character)))
        }
        return Word(
            name: String(word[..<colon].map(\.character)), weight: String(word[(colon + 1)...].map(\.character)))
    }
}

/// The order in which a worker of several queues serves them, as people type it.
enum QueueOrderWord: String, Sendable, CaseIterable, ExpressibleByArgument {
    case strict
    case weighted
}
