internal import CPenstockSystem
import PenstockCore
import Subprocess
import Synchronization

/// A process group whose leader is a child of this process.
final class ProcessGroup: Sendable {
    /// The group's number, which is its leader's.
    let id: Int32

    private enum State {
        case standing
        /// Told to die, which takes it a moment.
        case killed
        /// Its leader was, or will be, waited for: the number may become another group's.
        case disbanded
    }

    private let state = Mutex(State.standing)

    init(id: Int32) { self.id = id }

    /// Whether its leader runs, and will go on to.
    var isLed: Bool { state.withLock { $0 == .standing && !ChildProcess.hasEnded(id) } }

    func terminate() {
        state.withLock { state in
            if state == .standing { _ = systemKill(-id, SIGTERM) }
        }
    }

    /// Kills every process of the group, its leader too.
    func kill() {
        state.withLock { state in
            guard state != .disbanded else { return }
            _ = systemKill(-id, SIGKILL)
            state = .killed
        }
    }

    /// Kills the group for good. The leader must not have been waited for yet.
    func disband() {
        state.withLock { state in
            if state != .disbanded { _ = systemKill(-id, SIGKILL) }
            state = .disbanded
        }
    }

    /// Kills what joined the group after its end. Only a caller that holds a child in it that was not waited for may do this:
    /// while there is one, the number is this group's.
    func killLateComers() { _ = systemKill(-id, SIGKILL) }
}

/// What the kernel knows of a child process.
enum ChildProcess {
    /// Gives a child that has just been started, and the threads that start others, the nice value of this process. Where a program may
    /// raise priorities, as root's may, Dispatch gives each thread one of its own, and a child has that of the thread that started it.
    static func shareNiceValue(with id: Int32) { penstock_share_nice_value(id) }

    /// Whether the child `id` has ended. Leaves its status for the task that waits for it.
    static func hasEnded(_ id: Int32) -> Bool {
        var facts = siginfo_t()
        let result = SystemCall.uninterrupted { waitid(P_PID, id_t(id), &facts, WEXITED | WNOHANG | WNOWAIT) }
        return result != 0 || facts.si_signo != 0
    }

    /// Whether the library that has started `process` waits for its end for ever. It waits at a descriptor of the process, and has none where the
    /// system had too few as that was started. Only where the system knows no such descriptors does it wait in another way: it handles SIGCHLD.
    static func isUnseen(_ process: ProcessIdentifier) -> Bool {
        #if os(Linux)
            return process.processDescriptor < 0 && penstock_handles(SIGCHLD) == 0
        #else
            return false
        #endif
    }
}
