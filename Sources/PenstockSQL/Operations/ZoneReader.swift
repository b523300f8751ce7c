import PenstockCore
import PenstockSchedules

/// Zones that one transaction has read.
final class ZoneReader {
    private let folder: ZoneFolder
    private var known: [ZoneName: Zone] = [:]

    init(_ folder: ZoneFolder = .system) {
        self.folder = folder
    }

    func zone(_ name: ZoneName) throws(PenstockError) -> Zone {
        if let zone = known[name] { return zone }
        let zone = try folder.zone(name)
        known[name] = zone
        return zone
    }
}
