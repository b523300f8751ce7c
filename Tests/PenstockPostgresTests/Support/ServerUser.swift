import Foundation

/// The user that the tests' servers run as: a server does not run as root, and nobody else may signal it.
enum ServerUser {
    /// The words before a command that have this user run it.
    static var prefix: [String] {
        getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
    }

    /// Gives a folder to this user.
    static func own(_ folder: String) throws {
        if getuid() != 0 { return }
        guard let user = getpwnam("postgres") else {
            throw PostgresServer.Failure(description: "There is no user postgres.")
        }
        chown(folder, user.pointee.pw_uid, user.pointee.pw_gid)
    }
}
