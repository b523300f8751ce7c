/// What a request is for, and so what it means when the server's own answer does not come.
enum RequestPurpose: Sendable {
    /// Finds out who is there, as a store is opened. What is no server of this release is told so.
    case greeting
    /// Changes nothing. It is made once more when its connection broke.
    case reading
    /// Changes something, once.
    case changing
}
