import ArgumentParser
import Penstock

/// What a store is asked for as it accepts messages.
struct AcceptanceOptions: ParsableArguments {
    @Option(
        help: .init("What a message survives: power-loss or process-crash.", valueName: "what"),
        completion: .list(["power-loss", "process-crash"]), transform: Values.durability)
    var durability: Durability = .powerLoss

    @Option(
        help: .init(
            "How long to wait for room when the queue's policy is wait, and with enqueue --wait for the end; else for ever.",
            valueName: "duration"),
        transform: Values.duration)
    var timeout: Duration?
}
