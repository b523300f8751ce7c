import Foundation
import PenstockCore

/// Something that is wrong with the folder beside a database, with a file in it, or with SQLite's log beside them.
package struct FolderFault: Sendable {
    package enum Kind: Sendable {
        /// Another user may have put it there; the sentence says why, and what to do. In the folder it keeps everybody out.
        case foreign(String)
        /// Users who cannot open the database can use it.
        case wide
        /// Users who can open the database cannot use it.
        case narrow
        /// A file of shared memory that was cut, or does not begin as it must. The next process to open it makes it anew.
        case damaged
        /// A file of shared memory of another release.
        case otherLayout
    }

    package var path: String
    package var kind: Kind

    /// Whether ``FolderInspection/mend(_:)`` mends it.
    package var isMendable: Bool {
        switch kind {
        case .wide, .narrow, .damaged: true
        case .foreign, .otherLayout: false
        }
    }
}

/// A look at the folder beside a database that changes nothing, and mending what can be.
package struct FolderInspection {
    private let folder: SharedFolder
    private static let layouts = [WriterSlots.layout, DoorbellBoard.layout]

    package init(_ folder: SharedFolder) {
        self.folder = folder
    }

    /// What is wrong. Nothing is when there is no folder: whoever opens the database next makes it.
    package func faults() -> [FolderFault] {
        folder.companions.flatMap { flaws(at: $0, isFolder: false) } + faultsOfFolder()
    }

    /// Those faults for which SQLite is not given the database: what lies beside it may be another user's.
    package func foreignCompanions() -> [FolderFault] {
        DatabaseCompanions(folder).foreign(toWrite: false).map { path, why in
            FolderFault(path: path, kind: .foreign(DatabaseCompanions.sentence(path, why)))
        }
    }

    private func faultsOfFolder() -> [FolderFault] {
        var faults = flaws(at: folder.path, isFolder: true)
        // In a folder that may be anybody's nothing is looked at.
        if case .foreign = faults.first?.kind { return faults }
        for name in [WriterLock.fileName, LogOwner.fileName] { faults += flaws(at: folder.file(name), isFolder: false) }
        for layout in Self.layouts {
            let path = folder.file(layout.fileName)
            let flaws = flaws(at: path, isFolder: false)
            faults += flaws.isEmpty && isDamaged(path, layout) ? [FolderFault(path: path, kind: .damaged)] : flaws
        }
        return faults + otherLayouts()
    }

    /// Mends `fault`, if it is one that can be: what others may have made is not touched.
    ///
    /// - Throws: ``PenstockError`` when the system refuses it.
    package func mend(_ fault: FolderFault) throws {
        switch fault.kind {
        case .wide, .narrow: try folder.giveRights(fault.path, isFolder: fault.path == folder.path)
        case .damaged: try folder.makeAnew(fault.path)
        case .foreign, .otherLayout: break
        }
    }

    private func flaws(at path: String, isFolder: Bool) -> [FolderFault] {
        var status = stat()
        guard lstat(path, &status) == 0, let flaw = folder.flaw(of: status, isFolder: isFolder) else { return [] }
        let kind: FolderFault.Kind =
            switch flaw {
            case .foreign(let why) where folder.companions.contains(path):
                .foreign(DatabaseCompanions.sentence(path, why))
            case .foreign(let why): .foreign(folder.foreign(path, why).message)
            case .wide: .wide
            case .narrow: .narrow
            }
        return [FolderFault(path: path, kind: kind)]
    }

    private func isDamaged(_ path: String, _ layout: SharedMemory.Layout) -> Bool {
        let descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return SharedMemory.isDamaged(descriptor, layout)
    }

    private func otherLayouts() -> [FolderFault] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().filter { name in Self.layouts.contains { $0.isOtherVersion(name) } }
            .map { FolderFault(path: folder.file($0), kind: .otherLayout) }
    }
}
