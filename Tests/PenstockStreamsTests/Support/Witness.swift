import PenstockTestKit

/// Says when it is made and gone.
final class Witness: Sendable {
    let gone: Tally

    init(made: Tally, gone: Tally) {
        self.gone = gone
        made.add()
    }

    deinit {
        gone.add()
    }
}
