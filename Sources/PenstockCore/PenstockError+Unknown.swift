/// What is thrown where a store has nothing of that name, or has it already. All stores and faces say it in the same words.
extension PenstockError {
    package static func unknown(_ name: QueueName) -> PenstockError {
        PenstockError(.unknownQueue, "There is no queue '\(name)'; `penstock queue create` makes one.")
    }

    package static func unknown(_ name: WorkflowName) -> PenstockError {
        PenstockError(
            .unknownWorkflow, "There is no workflow '\(name)'; `penstock workflow list` names those there are.")
    }

    package static func unknown(_ name: ScheduleName) -> PenstockError {
        PenstockError(
            .unknownSchedule, "There is no schedule '\(name)'; `penstock schedule list` names those there are.")
    }

    package static func exists(_ name: ScheduleName) -> PenstockError {
        PenstockError(.scheduleExists, "There is a schedule '\(name)' already; remove it, or replace it (`--replace`).")
    }

    package static func unknown(_ name: LimitName) -> PenstockError {
        PenstockError(.unknownLimit, "There is no limit '\(name)'; `penstock limit set` makes one.")
    }

    package static func unknown(_ sequence: SequenceNumber) -> PenstockError {
        PenstockError(.unknownMessage, "There is no message \(sequence); retention may have let it go.")
    }
}
