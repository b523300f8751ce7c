import Foundation

/// A short command of the system's, run to its end.
enum SystemCommand {
    /// Waits in the kernel. Foundation's `waitUntilExit` runs the loop of its thread, where the end may go unheard, and the thread is one of
    /// the few that all tests share.
    static func run(_ words: [String]) throws {
        var arguments = (["/usr/bin/env"] + words).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var id: pid_t = 0
        var status: Int32 = 0
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor: Int32 in 0...2 {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        guard posix_spawn(&id, "/usr/bin/env", &actions, nil, &arguments, environ) == 0, waitpid(id, &status, 0) == id,
            status == 0
        else {
            throw PostgresServer.Failure(description: "\(words.joined(separator: " ")) did not end well")
        }
    }
}
