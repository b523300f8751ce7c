import Penstock
import PenstockCore
import PenstockFormats
import Subprocess

/// Works on messages by giving them to the processes of a command that stays, and says in the worker's words what they answer.
struct CoprocessHandler: MessageHandler {
    private let coprocesses: Coprocesses
    private let output: OutputUse

    init(_ coprocesses: Coprocesses, output: OutputUse) {
        self.coprocesses = coprocesses
        self.output = output
    }

    /// What a process has in its environment, which is for no single message.
    ///
    /// - Parameter queue: the queue that all messages are of, if they are of one.
    static func variables(
        _ inherited: [Environment.Key: String?], queue: QueueName?
    ) -> [Environment.Key: String?] {
        var variables = inherited
        variables.updateValue(queue?.text, forKey: "PENSTOCK_QUEUE")
        for name in ["PENSTOCK_SEQUENCE", "PENSTOCK_LEASE", "PENSTOCK_ATTEMPT"] as [Environment.Key] {
            variables.updateValue(nil, forKey: name)
        }
        return variables
    }

    func use(
        in guardians: Guardians, stops: StopRequests, onFailure: @escaping @Sendable (Failure) -> Void,
        _ body: () async throws -> Void
    ) async throws {
        try await coprocesses.use(in: guardians, stops: stops, onFailure: onFailure, body)
    }

    /// Has one of the processes answer the delivery's message.
    ///
    /// - Throws: `Reject`, `RetryAfter` or ``AttemptFailed``, as the answer is, or the process's exit status; ``Failure`` when none
    ///   can be started, or nobody reads what they answer.
    func handle(_ delivery: Delivery<[UInt8]>, in guardians: Guardians, stops: StopRequests) async throws {
        if case .into = output {
            do {
                try HeaderRules.validate(delivery.headers)
            } catch {
                // Put there by hand, and they are to go on with what follows.
                throw Reject("No message can have its headers: \(error.message)")
            }
        }
        let framing = coprocesses.coprocess.framing
        let message = try framing.encoded(delivery.payload)
        let reply = await stops.withRequest { _ in await coprocesses.coprocess.jobs.ask(message) }
        switch reply {
        case .answered(.done(let bytes)):
            if case .passed = output { return try await CommandOutput.pass(framing == .lines ? bytes + [0x0A] : bytes) }
            try await stops.withRequest(isRun: false) { try await output.finish(delivery, bytes, until: $0) }
        case .answered(.refused(let words)): throw Answer.error(of: words)
        case .died(let life): try await settle(delivery, life)
        case .unworked(.cancelled): throw CancellationError()
        case .unworked: try await delivery.release()
        case .failed(let failure): throw failure
        }
    }

    private func settle(_ delivery: Delivery<[UInt8]>, _ life: Coprocess.Life) async throws {
        switch life.reason {
        case .stopped(.timeout):
            let time = coprocesses.coprocess.command.timeout.map(DurationText.format) ?? ""
            try await delivery.retry("stopped after \(time) without an answer; \(life.end.text)", outcome: .timedOut)
        case .stopped(.grace): try await delivery.release()
        case .stopped: throw CancellationError()
        case .tooLong:
            throw AttemptFailed(
                description:
                    "The command's answer has more than \(coprocesses.coprocess.answerBytesMax) bytes, which is the most that is "
                    + "taken; have it write to a file, and answer with its name.")
        case .unasked, .surplus:
            throw AttemptFailed(description: "The command wrote more than one answer, and was stopped.")
        case .closed, .retired:
            if life.end.status == .exited(CommandHandler.rejected) { throw Reject(life.end.text) }
            throw AttemptFailed(description: "ended without an answer: \(life.end.text)")
        }
    }
}
