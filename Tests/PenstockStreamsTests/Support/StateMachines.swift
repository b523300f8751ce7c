import Testing

/// A failure of upstream.
struct Broken: Error, Equatable {
    var name = "broken"
}

/// Expects what a machine in some state says is to be done for an event.
func expect<Machine, Actions: Equatable>(
    _ machine: Machine, _ event: (inout Machine) -> Actions, gives actions: Actions,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    var machine = machine
    #expect(event(&machine) == actions, sourceLocation: sourceLocation)
}
