package import PenstockCore

/// The name of a zone of the IANA time zone database, such as `Europe/Paris`.
///
/// It is part of a file's path, so it can hold nothing that leads elsewhere.
package struct ZoneName: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    /// The zone that needs no file.
    package static let utc = ZoneName(checked: "UTC")

    /// Other names of UTC. They need no file either.
    private static let namesOfUTC: Set = ["UTC", "Etc/UTC", "Etc/UCT", "UCT", "Zulu", "Etc/Zulu", "Universal"]

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when no zone can have that name.
    package init(_ text: String) throws(PenstockError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isWell =
            text.utf8.count <= 64
            && parts.allSatisfy { part in
                guard let first = part.first, first != UInt8(ascii: "-") else { return false }
                return part.allSatisfy { $0.isLetterOrDigit || "_+-".utf8.contains($0) }
            }
        guard isWell else {
            throw PenstockError(
                .invalidInput,
                "A time zone is written as in the IANA database, such as Europe/Paris, America/New_York or UTC.")
        }
        self.text = text
    }

    private init(checked text: String) {
        self.text = text
    }

    package var description: String { text }

    var isUTC: Bool { ZoneName.namesOfUTC.contains(text) }

    /// Whether it is of the second set of zones, in which each day with a leap second has one second more.
    var countsLeapSeconds: Bool { text.hasPrefix("right/") }
}
