import PenstockCore
import PenstockProcesses

/// What this machine's processes that have the store open share, to wake each other and to write for each other without the server.
struct SameHost: Sendable {
    let folder: HostFolder
    let doorbell: Doorbell
    let listener: HostListener
    let lock: WriterLock

    /// `nil` where it cannot be had: the processes meet at the server alone.
    init?(_ server: ServerConnection, _ address: ServerAddress) {
        // Of two servers that are copies of each other the place differs, and of two roles what they may do.
        guard let identity = try? server.run(Self.question).text(0, 0) else { return nil }
        do {
            folder = try HostFolder(of: "\(address.description) \(address.place(of: server)) \(identity)\n")
            doorbell = try Doorbell(folder.folder)
            listener = try HostListener(in: folder.folder)
            lock = try WriterLock(folder.folder)
        } catch {
            return nil
        }
    }

    private static let question = """
        SELECT concat_ws(' ', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()), current_schema(),
            current_user) FROM pg_control_system()
        """
}
