/// How a wait for the sake of a client has ended.
package enum WaitEnd<Value: Sendable>: Sendable {
    /// What was waited for is there.
    case happened(Value)
    /// The time is over.
    case timeIsUp
    /// The client has closed the connection, or its own half of it: nobody is left to answer.
    case clientGone
    /// The server was told to stop: it answers at once with what there is.
    case serverStops
}
