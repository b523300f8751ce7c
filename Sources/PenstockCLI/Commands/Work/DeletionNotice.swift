import Penstock
import PenstockCore

/// Says of a worker's queues once that they are being deleted: claims from such a queue are not refused, they give nothing, also when
/// the process that deletes it was killed and nobody goes on with it.
struct DeletionNotice: Sendable {
    /// Whether a queue is being deleted, or is copied here and not all of it has come.
    let isDeleting: @Sendable (QueueName) async throws -> Bool
    let say: @Sendable (String) -> Void
    /// Those that are still looked at.
    private var queues: [QueueName]
    private var told: Set<QueueName> = []

    /// How long lies between two looks.
    static let interval = Duration.seconds(60)

    init(
        of queues: [QueueName], isDeleting: @escaping @Sendable (QueueName) async throws -> Bool,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.queues = queues
        self.isDeleting = isDeleting
        self.say = say
    }

    /// Looks at each queue once. One of which this worker may not know that is left out from then on.
    mutating func look() async {
        for queue in queues {
            do {
                if try await !isDeleting(queue) {
                    told.remove(queue)
                } else if told.insert(queue).inserted {
                    say(
                        "The queue '\(queue)' is being deleted, or copied here and not all of it has come, and gives nothing; "
                            + "if no program is at it, finish that: `penstock doctor` says how.")
                }
            } catch let error as PenstockError where error.code == .forbidden {
                queues.removeAll { $0 == queue }
            } catch {
                // The worker itself tells of a queue that is gone, and of a store that fails.
            }
        }
    }

    /// Looks again and again, until the task is cancelled.
    func goOn(by clock: any Clock<Duration> = ContinuousClock()) async {
        var notice = self
        while (try? await clock.sleep(for: Self.interval)) != nil { await notice.look() }
    }
}
