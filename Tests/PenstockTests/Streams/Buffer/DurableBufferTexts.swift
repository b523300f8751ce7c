import PenstockCore

@testable import Penstock

// What a machine says, as tests write it.

extension DurableBufferStateMachine.Action {
    var text: String {
        switch self {
        case .ask(.max): "ask max"
        case .ask(let count): "ask \(count)"
        case .goOn: "goOn"
        case .stop: "stop"
        case .cancelUpstream: "cancelUpstream"
        case .lost(let count): "lost \(count)"
        case .wake: "wake"
        }
    }
}

extension DurableBufferStateMachine.Step {
    var text: String {
        switch self {
        case .open: "open"
        case .perform(let steps): steps.map(\.text).joined(separator: ", ")
        case .recount: "recount"
        case .count: "count"
        case .rest(let watching): watching ? "watch" : "rest"
        case .end: "end"
        }
    }
}

extension PendingOperations.Step {
    var text: String {
        switch self {
        case .enqueue(let values): "enqueue \(values)"
        case .claim(let limit): "claim \(limit)"
        }
    }
}
