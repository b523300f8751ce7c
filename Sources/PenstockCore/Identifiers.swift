/// A message's place in the log: 1, 2, 3, … over the whole store, in the order of acceptance, never used twice.
public struct SequenceNumber: RawRepresentable, Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    /// The number, from 1.
    public var rawValue: Int64

    /// Makes the sequence number `rawValue`.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Makes the sequence number `rawValue`.
    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Whether `left` comes first: it was accepted earlier.
    public static func < (left: SequenceNumber, right: SequenceNumber) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in decimal.
    public var description: String { String(rawValue) }
}

/// Fences one claim. Every claim has a new one, and each settle and extend must carry it: a worker that lost its
/// lease holds an old token, and changes nothing.
public struct LeaseToken: RawRepresentable, Hashable, Sendable {
    /// The token as a number, which has no meaning.
    public var rawValue: Int64

    /// Makes the token `rawValue`.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Makes a new token out of 63 random bits.
    public init(random: some RandomSource) {
        rawValue = Int64(bitPattern: random.next() >> 1)
    }
}

/// One claim of one message: what a settle or an extend must show.
public struct Lease: Hashable, Sendable {
    /// The message.
    public var sequence: SequenceNumber
    /// The claim's token.
    public var token: LeaseToken

    /// Makes the lease of message `sequence` under `token`.
    public init(sequence: SequenceNumber, token: LeaseToken) {
        self.sequence = sequence
        self.token = token
    }
}

/// Tells a store from all others, wherever it is opened and whatever its file is called. Numbers of messages mean something in their
/// own store alone.
public struct StoreID: RawRepresentable, Hashable, Sendable {
    /// A text by chance, which has no meaning.
    public var rawValue: String

    /// Makes the identity `rawValue`.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Makes a new identity out of 128 random bits.
    public init(random: some RandomSource) {
        rawValue = [random.next(), random.next()].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
