import Penstock
import PenstockFormats

/// How a command that stays is given messages and answers them, one after the other.
enum Framing: Sendable, Hashable {
    /// A message is a line, and so is its answer.
    case lines
    /// A message is a frame, and so is its answer: four bytes that say how many follow, the highest first, and these.
    case frames

    /// What a line begins with that is no output: the control character by which, in ASCII, a receiver says that it did not take
    /// what it was sent. It is in no text and in no JSON, so every program that answers with text needs to know nothing of it.
    static let refusalByte: UInt8 = 0x15
    /// What is added to the number of bytes of a frame that is no output. No frame has so many, so that its bytes may be any.
    static let refusalBit: UInt32 = 1 << 31

    /// What the command reads for a message with that payload.
    ///
    /// - Throws: `Reject` when it cannot be said in this way, whoever tries.
    func encoded(_ payload: [UInt8]) throws(Reject) -> [UInt8] {
        switch self {
        case .lines:
            guard let lineEnd = payload.firstIndex(of: 0x0A) else { return payload + [0x0A] }
            // What `echo` prints has its line end already.
            guard lineEnd == payload.count - 1 else {
                throw Reject(
                    "Its payload has more than one line, and with --lines a command gets a line for each message; use --framed."
                )
            }
            return payload
        case .frames:
            return withUnsafeBytes(of: UInt32(payload.count).bigEndian) { Array($0) } + payload
        }
    }
}

/// What a command that stays says of a message.
enum Answer: Sendable, Hashable {
    /// It is done, and this is what it gave.
    case done([UInt8])
    /// It failed, with these words.
    case refused([UInt8])

    /// For how long a command that puts off a group is believed: it hands on what a foreign server says.
    static let holdMax = Duration.seconds(86_400)

    /// What the command's refusal is to the worker: `reject TEXT`, `retry-after DURATION TEXT`, `hold DURATION TEXT`, or just
    /// what went wrong.
    static func error(of refusal: [UInt8]) -> any Error {
        // The words stand at the head, of which a long text keeps nothing.
        let words = refusal.split(separator: UInt8(ascii: " "), maxSplits: 2)
        let first = words.first.map { String(decoding: $0.prefix(20), as: UTF8.self) }
        if first == "reject" { return Reject(kept(words.dropFirst())) }
        if first == "retry-after" || first == "hold", words.count > 1,
            let delay = try? DurationText.parse(String(decoding: words[1].prefix(40), as: UTF8.self))
        {
            let holdsGroup = first == "hold"
            return RetryAfter(
                holdsGroup ? min(delay, holdMax) : delay, reason: kept(words.dropFirst(2)), holdsGroup: holdsGroup)
        }
        let text = kept([refusal[...]])
        return AttemptFailed(description: text.isEmpty ? "The command refused it without a word." : text)
    }

    private static func kept(_ words: ArraySlice<ArraySlice<UInt8>>) -> String {
        var tail = ErrorTail(bytesMax: Command.errorTailBytesMax)
        tail.append(Array(words.joined(separator: [UInt8(ascii: " ")])))
        return tail.text
    }
}

/// Finds the answers in what a command writes.
struct AnswerReader: Sendable {
    /// An answer has more bytes than it may.
    struct TooLong: Error {}

    private let framing: Framing
    private let bytesMax: Int
    private var bytes: [UInt8] = []
    /// Up to where no line end was found.
    private var scanned = 0

    init(_ framing: Framing, bytesMax: Int) {
        self.framing = framing
        self.bytesMax = bytesMax
    }

    /// Whether nothing is left that no answer has taken.
    var isEmpty: Bool { bytes.isEmpty }

    mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    /// The next answer, once all of it is there.
    mutating func next() throws(TooLong) -> Answer? {
        switch framing {
        case .lines: try nextLine()
        case .frames: try nextFrame()
        }
    }

    private mutating func nextLine() throws(TooLong) -> Answer? {
        let lineEnd = bytes[scanned...].firstIndex(of: 0x0A)
        // A refusal has a byte more.
        if (lineEnd ?? bytes.count) > bytesMax + 1 { throw TooLong() }
        guard let lineEnd else {
            scanned = bytes.count
            return nil
        }
        let isRefusal = bytes.first == Framing.refusalByte
        if !isRefusal, lineEnd > bytesMax { throw TooLong() }
        let answer = take(isRefusal ? 1..<lineEnd : 0..<lineEnd, upTo: lineEnd + 1)
        return isRefusal ? .refused(answer) : .done(answer)
    }

    private mutating func nextFrame() throws(TooLong) -> Answer? {
        guard bytes.count >= 4 else { return nil }
        let head = bytes[..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let isRefusal = head & Framing.refusalBit != 0
        let count = Int(head & ~Framing.refusalBit)
        if count > bytesMax { throw TooLong() }
        guard bytes.count >= 4 + count else {
            bytes.reserveCapacity(4 + count)
            return nil
        }
        let answer = take(4..<4 + count, upTo: 4 + count)
        return isRefusal ? .refused(answer) : .done(answer)
    }

    private mutating func take(_ range: Range<Int>, upTo end: Int) -> [UInt8] {
        let answer = Array(bytes[range])
        if end == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.count <= Self.keptBytesMax)
        } else {
            bytes.removeFirst(end)
        }
        scanned = 0
        return answer
    }

    /// Room for more is not kept from one answer to the next.
    private static let keptBytesMax = 256 * 1024
}
