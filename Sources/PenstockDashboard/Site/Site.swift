import Penstock
import PenstockCore
import PenstockHTTP

/// What all pages are made of.
struct Site: Sendable {
    let store: PenstockStore
    let live: Live
    let audit: Audit
    /// What the doctor's page looks at; `nil`: nothing can be.
    let health: HealthSource?
    /// What people call this server, if they have said so.
    let name: String?
    /// Whether the server changes nothing, for any visitor.
    let isReadOnly: Bool
    /// The tokens that are asked for; `nil`: none is.
    let tokens: Tokens?
    let time: any TimeSource

    var now: Timestamp { time.now }
}
