import PenstockCore

/// Operations in their order.
extension MemoryState {
    /// Carries out operations up to the first that fails or comes to its end early.
    mutating func perform(
        _ operations: [StoreOperation], worker: Int64, at moment: Moment
    ) throws(PenstockError) -> Performed {
        var performed = Performed()
        for operation in operations {
            do throws(PenstockError) {
                let answer = try perform(operation, worker: worker, at: moment)
                performed.answers.append(answer)
                if operation.isCutShort(by: answer) { break }
            } catch {
                if performed.answers.isEmpty { throw error }
                performed.failure = error
                break
            }
        }
        return performed
    }

    private mutating func perform(
        _ operation: StoreOperation, worker: Int64, at moment: Moment
    ) throws(PenstockError) -> StoreAnswer {
        switch operation {
        case .enqueue(let messages, let queue, let durability):
            .enqueued(try enqueue(messages, to: queue, durability: durability, at: moment))
        case .settle(let settlements):
            .settled(try settle(settlements, at: moment))
        case .claim(let request):
            .claimed(try claim(request, worker: worker, at: moment))
        }
    }
}
