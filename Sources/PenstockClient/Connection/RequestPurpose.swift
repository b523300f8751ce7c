/// What a request is for, and so what it means when the server's own answer does not come.
enum RequestPurpose: Sendable {
    /// The client opens a store, and finds out whether a server of this release answers.
    case greeting
    /// Changes nothing. It is made once more when its connection broke.
    case reading
    /// Changes something, once.
    case changing
}
