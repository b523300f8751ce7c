package import PenstockCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The folder in which a system keeps the IANA time zone database, a file for each zone.
package struct ZoneFolder: Sendable {
    /// The folders to look into, one after the other.
    private let paths: [String]

    /// Where systems have it. Apple's keep the one that updates bring in the first.
    private static let usual = [
        "/var/db/timezone/zoneinfo", "/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo",
        "/etc/zoneinfo",
    ]

    /// The folder that the environment's `TZDIR` names or, without it, the system's.
    package static let system = ZoneFolder(
        paths: getenv("TZDIR").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : [$0] } ?? usual)

    /// The first of `paths` that has the zone is read.
    package init(paths: [String]) {
        self.paths = paths
    }

    /// Reads the zone. It reads a file of a few kilobytes.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when there is no such zone, and `notFound` when the machine has
    ///   no zones.
    package func zone(_ name: ZoneName) throws(PenstockError) -> Zone {
        if name.isUTC { return .utc }
        guard !name.countsLeapSeconds else {
            throw PenstockError(
                .invalidInput,
                "The zone '\(name)' counts leap seconds, which the clocks of systems do not; leave 'right/' out.")
        }
        for path in paths {
            guard let bytes = contents(of: path + "/" + name.text) else { continue }
            guard let data = ZoneData(bytes) else {
                throw PenstockError(
                    .invalidInput, "The time zone data in \(path)/\(name) is damaged; install the package tzdata again."
                )
            }
            return Zone(
                name: name, fingerprint: ZoneData.fingerprint(bytes), changes: data.changes,
                firstOffset: data.firstOffset, years: data.years)
        }
        // A database without this one is not one.
        guard paths.contains(where: { access($0 + "/Europe/London", R_OK) == 0 }) else {
            throw PenstockError(
                .notFound,
                "This machine has no time zone data, so it knows only UTC; install the package tzdata, or set TZDIR to a "
                    + "folder that has it.")
        }
        throw PenstockError(
            .invalidInput,
            "There is no time zone '\(name)'; zones are called as in the IANA database, such as Europe/Paris.")
    }

    /// The bytes of the file at `path`, if it is a file; one byte more than a zone's file may have at most.
    private func contents(of path: String) -> [UInt8]? {
        // A pipe would have the call wait for another program.
        let descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 8192)
        while bytes.count <= ZoneData.bytesMax {
            let count = SystemCall.uninterrupted { read(descriptor, &buffer, buffer.count) }
            if count < 0 { return nil }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        return bytes
    }
}
