/// Where a worker's store is, as people are told of it when the worker ends with messages that it cannot give back.
extension StoreAddress.Kind {
    var name: String {
        switch self {
        case .file: "the file"
        case .server: "the server"
        case .database: "the database"
        }
    }

    var whyNothingIsGivenBack: String {
        switch self {
        case .file: "Another process holds the file"
        case .server: "The server does not take them back"
        case .database: "The database does not take them back"
        }
    }

    /// A server knows nothing of a worker's process: it sees leases end.
    var whenLostComesBack: String {
        self == .server ? "when their leases have ended" : "when it is seen that this worker is gone"
    }
}
