internal import CPenstockSystem
import Foundation

extension SharedFolder {
    /// What users may do with the folder and its files: the database's bits for reading and writing, and its owner.
    struct Rights {
        var mode: mode_t = 0o600
        var user = geteuid()
        var group = getegid()
        var database: String?

        var folderMode: mode_t { mode | (mode & 0o444) >> 2 | 0o700 }

        /// To whom a new file is given: only root gives files away, and a member of a group gives them to the group.
        var userToGiveTo: uid_t { geteuid() == 0 ? user : .max }

        /// Whether the user `owner` can open the database anyway, going by a file of theirs that has the group `group`.
        func trusts(_ owner: uid_t, _ group: gid_t) -> Bool {
            if owner == 0 || owner == geteuid() || owner == user || mode & 0o002 != 0 { return true }
            guard mode & 0o020 != 0, group == self.group else { return false }
            // A folder may hand its group on to each file that is made in it, and on some systems every folder does. So in a folder where all
            // users may make files, this process asks the system for the members of the group. The system knows no user of a container.
            // In any other folder a member or the folder's owner has made the file, or a user who can replace the database itself as well.
            return !isFolderAnybodys || penstock_is_member(owner, group) != 0
        }

        /// Whether all users may make files beside the database, and none may take the database itself away.
        private var isFolderAnybodys: Bool {
            guard let database else { return false }
            var status = stat()
            return stat(SharedFolder.parent(of: database), &status) != 0 || status.st_mode & 0o1002 == 0o1002
        }

        /// Whether all who can open the database can use what has `status`.
        func admits(_ status: stat, isFolder: Bool) -> Bool {
            let mode = isFolder ? folderMode : mode
            let needed: mode_t = isFolder ? 0o7 : 0o6
            let shift: mode_t = status.st_uid == user ? 6 : status.st_gid == group ? 3 : 0
            let ownerCan = user == 0 || status.st_mode >> shift & needed == needed
            // Where the group may do no more than all others it does not matter which one it is.
            let groupCan = status.st_gid == group || (mode >> 3 & 0o7) & ~(mode & 0o7) == 0
            return ownerCan && groupCan && status.st_mode & mode & 0o077 == mode & 0o077
        }
    }
}
