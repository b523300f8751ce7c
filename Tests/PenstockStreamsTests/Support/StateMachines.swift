import Testing

/// A failure of upstream.
struct Broken: Error, Equatable {
    var name = "broken"
}

/// Expects what a machine in some state says is to be done for an event.
func expect<Machine, Action: Equatable>(
    _ machine: Machine, _ event: (inout Machine) -> [Action], gives actions: [Action],
    sourceLocation: SourceLocation = #_sourceLocation
) {
    var machine = machine
    #expect(event(&machine) == actions, sourceLocation: sourceLocation)
}

/// Expects what a machine in some state says is to be done for an event, at most one thing.
func expect<Machine, Action: Equatable>(
    _ machine: Machine, _ event: (inout Machine) -> Action?, gives actions: [Action],
    sourceLocation: SourceLocation = #_sourceLocation
) {
    var machine = machine
    #expect(event(&machine).map { [$0] } ?? [] == actions, sourceLocation: sourceLocation)
}
