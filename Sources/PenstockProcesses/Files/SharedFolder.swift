internal import CPenstockSystem
import Foundation
import PenstockCore

/// The folder `NAME-penstock` beside a database: what the processes that use the database share besides its rows. For a store that lies
/// on a server it is another one (``HostFolder``).
///
/// | file | what it is |
/// |---|---|
/// | `writer-lock` | locked by the one process that may write (``WriterLock``) |
/// | `writers-4` | the slots at which the others wait (``WriterSlots``) |
/// | `doorbell-2` | whom to wake for what (``DoorbellBoard``) |
/// | `log-owner` | which file SQLite's log beside the database belongs to (``LogOwner``) |
/// | `worker-UUID` | locked by a worker's process as long as it lives (``WorkerLock``) |
///
/// None of these locks lies on the database or its `-shm`: a process that closes any descriptor of those drops all of
/// SQLite's own locks on them. The folder can be deleted when no process has the database open.
///
/// The users that can open the database may use the folder, and no others: its files have the database's mode and group, and are
/// given to its owner when root makes them, as SQLite does with its companions. A folder or a file that another user could have
/// prepared is refused, and no link is followed.
package struct SharedFolder: Sendable {
    package let path: String
    /// Whose rights its files have; `nil`: this user's alone.
    private let database: String?

    /// The folder beside `databasePath`, which is resolved; made when it is missing.
    ///
    /// - Throws: `readOnly` when it belongs to a user that need not be able to open the database.
    package init(besideDatabaseAt databasePath: String) throws {
        self.init(existingBesideDatabaseAt: databasePath)
        let rights = rights
        let isNew = SystemCall.uninterrupted { mkdir(path, 0o700) } == 0
        if !isNew, errno != EEXIST { throw SystemErrors.failure("The folder \(path) cannot be made", errno) }
        try use(path, isFolder: true) { status, own, setMode in
            // Another user may have put something else in its place meanwhile.
            guard isNew, status.st_uid == geteuid() else {
                return try check(status, path, isFolder: true, own, setMode)
            }
            let isGroups = own(rights.userToGiveTo, rights.group) == 0
            _ = setMode(isGroups ? rights.folderMode : 0o700)
        }
    }

    /// The folder beside `databasePath` as it is, for a program that only looks.
    package init(existingBesideDatabaseAt databasePath: String) {
        database = databasePath
        path = databasePath + "-penstock"
    }

    /// The folder at `path`, for this user alone; made when it is missing. What it lies in must be there.
    ///
    /// - Throws: `readOnly` when another user could have prepared it.
    init(private path: String) throws {
        self.path = path
        database = nil
        if SystemCall.uninterrupted({ mkdir(path, 0o700) }) != 0, errno != EEXIST {
            throw SystemErrors.failure("The folder \(path) cannot be made", errno)
        }
        try use(path, isFolder: true) { status, own, setMode in try check(status, path, isFolder: true, own, setMode) }
    }

    /// What SQLite keeps beside the database, as the folder lies there.
    var companions: [String] { database.map { path in DatabaseCompanions.ends.map { path + $0 } } ?? [] }

    package func file(_ name: String) -> String { path + "/" + name }

    /// The path of the folder in which the file at `path` lies.
    package static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Removes the file called `name`, which is one that this module gives.
    func remove(_ name: String) {
        unlink(file(name))
    }

    /// Opens `file` for reading and writing, made when it is missing, closed in child processes.
    package func open(_ file: String) throws -> Int32 {
        while true {
            let existing = SystemCall.uninterrupted {
                Foundation.open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            }
            if existing >= 0 {
                do {
                    try checkFile(existing, file)
                    return existing
                } catch {
                    close(existing)
                    throw error
                }
            }
            guard errno == ENOENT else { throw refusal(of: file, errno) }
            if let new = try make(file) { return new }
        }
    }

    /// Why `file` cannot be opened: for what is in its place, or for what the system says.
    private func refusal(of path: String, _ number: Int32, isFolder: Bool = false) -> PenstockError {
        var status = stat()
        if lstat(path, &status) == 0, case .foreign(let why) = flaw(of: status, isFolder: isFolder) {
            return foreign(path, why)
        }
        return SystemErrors.failure("\(path) cannot be opened", number)
    }

    /// Makes `file` and opens it for reading and writing, closed in child processes; `nil` when it is there already.
    package func make(_ file: String) throws -> Int32? {
        let descriptor = SystemCall.uninterrupted {
            Foundation.open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        }
        guard descriptor >= 0 else {
            if errno == EEXIST { return nil }
            throw SystemErrors.failure("\(file) cannot be made", errno)
        }
        let rights = rights
        // A group that is another one than the database's has no business here.
        let isGroups = fchown(descriptor, rights.userToGiveTo, rights.group) == 0
        fchmod(descriptor, isGroups ? rights.mode : 0o600)
        return descriptor
    }

    /// Puts an empty file in the place of `file`. Processes that have the old one open keep it.
    package func makeAnew(_ file: String) throws {
        let new = "\(file).\(getpid()).new"
        unlink(new)
        guard let descriptor = try make(new) else { return }
        close(descriptor)
        if rename(new, file) != 0 {
            let number = errno
            unlink(new)
            throw SystemErrors.failure("\(file) is damaged and cannot be made anew", number)
        }
    }

    // MARK: Whose it is

    private var rights: Rights {
        var status = stat()
        guard let database, stat(database, &status) == 0 else { return Rights() }
        return Rights(
            mode: status.st_mode & 0o666 | 0o600, user: status.st_uid, group: status.st_gid, database: database)
    }

    private func checkFile(_ descriptor: Int32, _ file: String) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemErrors.failure("\(file) cannot be read", errno) }
        try check(
            status, file, isFolder: false, { fchown(descriptor, $0, $1) }, { fchmod(descriptor, $0) })
    }

    /// Throws unless only users that can open the database have `status`. A mode that is wider than the database's is narrowed; one
    /// that is narrower follows it where this user may change it.
    private func check(
        _ status: stat, _ path: String, isFolder: Bool, _ own: (uid_t, gid_t) -> Int32, _ setMode: (mode_t) -> Int32
    ) throws {
        switch flaw(of: status, isFolder: isFolder) {
        case .foreign(let why): throw foreign(path, why)
        case .wide(let mode) where setMode(mode) != 0:
            throw foreign(path, "can be used by others than the database")
        case .narrow:
            _ = giveRights(isFolder: isFolder, own, setMode)
        case .wide, nil: break
        }
    }

    /// What is wrong with the owner or the mode of the folder, or of a file in it.
    enum Flaw {
        /// It is refused, and why.
        case foreign(String)
        /// Users who cannot open the database can use it. It becomes that mode when it is next opened.
        case wide(mode_t)
        /// Users who can open the database cannot use it. It becomes as wide when its owner, or root, next opens it.
        case narrow
    }

    /// What is wrong with the folder or a file in it, of which the system says `status`.
    func flaw(of status: stat, isFolder: Bool) -> Flaw? {
        let rights = rights
        guard status.st_mode & S_IFMT == (isFolder ? S_IFDIR : S_IFREG) else {
            switch status.st_mode & S_IFMT {
            case S_IFLNK: return .foreign("is a link")
            case S_IFDIR: return .foreign("is a folder")
            default: return .foreign(isFolder ? "is no folder" : "is no file")
            }
        }
        // A file that was just made anew has no name any more; one with two names may be another user's.
        if !isFolder, status.st_nlink > 1 { return .foreign("has another name as well") }
        guard rights.trusts(status.st_uid, status.st_gid) else {
            return .foreign("belongs to user \(status.st_uid)")
        }
        let mode = isFolder ? rights.folderMode : rights.mode
        if status.st_mode & 0o777 & ~mode != 0 { return .wide(status.st_mode & 0o777 & mode) }
        return rights.admits(status, isFolder: isFolder) ? nil : .narrow
    }

    /// Gives the folder, or a file in it, the owner and the mode that it has when it is made.
    ///
    /// - Throws: also when what is at `path` may be another user's.
    func giveRights(_ path: String, isFolder: Bool) throws {
        try use(path, isFolder: isFolder) { status, own, setMode in
            if case .foreign(let why) = flaw(of: status, isFolder: isFolder) { throw foreign(path, why) }
            guard giveRights(isFolder: isFolder, own, setMode) else {
                throw SystemErrors.failure("\(path) cannot be given the owner and the mode of the database", errno)
            }
        }
    }

    /// - Returns: whether the system let this process do so; else `errno` says why.
    private func giveRights(isFolder: Bool, _ own: (uid_t, gid_t) -> Int32, _ setMode: (mode_t) -> Int32) -> Bool {
        let rights = rights
        return own(rights.userToGiveTo, rights.group) == 0 && setMode(isFolder ? rights.folderMode : rights.mode) == 0
    }

    /// Calls `body` with the status of what is at `path` now, and with what gives just this another owner or mode, whatever
    /// takes its place meanwhile. No link is followed.
    private func use(
        _ path: String, isFolder: Bool,
        _ body: (stat, _ own: (uid_t, gid_t) -> Int32, _ setMode: (mode_t) -> Int32) throws -> Void
    ) throws {
        var status = stat()
        let kind = isFolder ? O_DIRECTORY : 0
        // To open and close what SQLite has open in this process takes SQLite's locks away.
        let isSQLites = companions.contains(path)
        let descriptor = SystemCall.uninterrupted {
            isSQLites
                ? penstock_open_path(path)
                : Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | kind)
        }
        if descriptor >= 0 {
            defer { close(descriptor) }
            guard fstat(descriptor, &status) == 0 else { throw SystemErrors.failure("\(path) cannot be read", errno) }
            if isSQLites {
                try body(
                    status, { penstock_change_owner(descriptor, $0, $1) },
                    { penstock_change_mode(descriptor, UInt32($0)) })
            } else {
                try body(status, { fchown(descriptor, $0, $1) }, { fchmod(descriptor, $0) })
            }
        } else if errno == EACCES || errno == ENOTSUP, lstat(path, &status) == 0 {
            // Not root, then, who may open everything: a user who cannot read it can only change what is their own. Or a system on
            // which nothing is reached without opening it.
            try body(status, { lchown(path, $0, $1) }, { fchmodat(AT_FDCWD, path, $0, AT_SYMLINK_NOFOLLOW) })
        } else {
            throw refusal(of: path, errno, isFolder: isFolder)
        }
    }

    func foreign(_ path: String, _ why: String) -> PenstockError {
        PenstockError(
            .readOnly,
            "\(path) \(why), so others could read or change what passes through it; remove it, or move the database to a "
                + "folder of your own.")
    }
}
