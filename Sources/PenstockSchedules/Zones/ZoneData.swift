/// What a file of the IANA time zone database says, in the form "TZif" of RFC 9636, versions 1 to 4.
///
/// The bytes may be anybody's: every count and every number is held against what there is before it is used.
struct ZoneData {
    private(set) var changes: [Zone.Change] = []
    private(set) var firstOffset: Int64 = 0
    private(set) var years: YearlyChanges?

    /// No zone's file is larger; the largest has four kilobytes.
    static let bytesMax = 256 * 1024

    private struct Header {
        let version: UInt8
        /// Indicators of UTC, indicators of standard time, leap seconds, times, types, and bytes of names.
        private let counts: [Int]

        static let bytes = 44

        var leapSeconds: Int { counts[2] }
        var times: Int { counts[3] }
        var types: Int { counts[4] }

        init?(_ bytes: ArraySlice<UInt8>) {
            guard bytes.count >= Header.bytes, bytes.starts(with: Array("TZif".utf8)) else { return nil }
            version = bytes[bytes.startIndex + 4]
            counts = (0..<6).map { Int(truncatingIfNeeded: bytes.bigEndian(at: 20 + 4 * $0, count: 4)) }
            // Each of what is counted takes a byte at least.
            guard counts.allSatisfy({ (0...ZoneData.bytesMax).contains($0) }) else { return nil }
        }

        /// Bytes of the block behind it, whose times have so many each. Names, leap seconds and indicators come last, and are of no use here.
        func blockBytes(timeBytes: Int) -> Int {
            times * (timeBytes + 1) + types * 6 + counts[5] + leapSeconds * (timeBytes + 4) + counts[1] + counts[0]
        }
    }

    /// Reads a file's bytes; `nil` when they are no time zone, or one that counts leap seconds, which Unix time does not.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= ZoneData.bytesMax, let first = Header(bytes[...]) else { return nil }
        if first.version == 0 {
            guard read(bytes[Header.bytes...], first, timeBytes: 4) != nil else { return nil }
            return
        }
        // From version 2 on everything is there twice. What comes first is cut off in 2038.
        let rest = bytes.dropFirst(Header.bytes + first.blockBytes(timeBytes: 4))
        guard let second = Header(rest), second.version == first.version,
            let footer = read(rest.dropFirst(Header.bytes), second, timeBytes: 8)
        else { return nil }
        guard let begin = footer.first, begin == UInt8(ascii: "\n"),
            let end = footer.dropFirst().firstIndex(of: UInt8(ascii: "\n"))
        else { return nil }
        let rule = footer[(footer.startIndex + 1)..<end]
        if rule.isEmpty { return }
        guard let years = YearlyChanges(rule) else { return nil }
        self.years = years
    }

    /// Reads one block; gives what comes after it.
    private mutating func read(
        _ bytes: ArraySlice<UInt8>, _ header: Header, timeBytes: Int
    ) -> ArraySlice<UInt8>? {
        let length = header.blockBytes(timeBytes: timeBytes)
        guard header.types > 0, header.types <= 256, header.leapSeconds == 0, bytes.count >= length else { return nil }
        let typesAt = header.times * (timeBytes + 1)
        var offsets: [Int64] = []
        for type in 0..<header.types {
            let offset = bytes.bigEndian(at: typesAt + 6 * type, count: 4)
            guard abs(offset) <= Zone.offsetMax else { return nil }
            offsets.append(offset)
        }
        firstOffset = offsets[0]
        var last = Int64.min
        for index in 0..<header.times {
            let second = bytes.bigEndian(at: index * timeBytes, count: timeBytes)
            let type = Int(bytes[bytes.startIndex + header.times * timeBytes + index])
            guard index == 0 || second > last, type < offsets.count else { return nil }
            last = second
            let bounded = min(max(second, Zone.distantPast), Zone.distantFuture)
            changes.append(Zone.Change(second: bounded, offset: offsets[type]))
        }
        return bytes.dropFirst(length)
    }

    /// A number made of the bytes by FNV-1a (Fowler, Noll and Vo, 1991). It tells data from other data, and is no proof
    /// against a forger, who could write the file as well.
    static func fingerprint(_ bytes: [UInt8]) -> Int64 {
        Int64(bitPattern: bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    }
}

extension ArraySlice<UInt8> {
    /// The signed number of `count` bytes, the largest first, `offset` bytes behind the start.
    fileprivate func bigEndian(at offset: Int, count: Int) -> Int64 {
        let begin = startIndex + offset
        let bits = self[begin..<(begin + count)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let unused = Int64(64 - 8 * count)
        return Int64(bitPattern: bits << UInt64(unused)) >> unused
    }
}
