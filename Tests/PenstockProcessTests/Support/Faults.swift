import Testing

/// What the program does where something around it is not as it should be: files, streams, clocks, bounds, other processes. One
/// at a time, beside the proofs: these wait more than they work.
@Suite(.serialized, .timeLimit(.minutes(10)))
enum Faults {}
