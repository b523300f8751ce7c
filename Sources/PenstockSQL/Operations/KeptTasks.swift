import PenstockCore
import Synchronization

/// Up to where each queue has nothing but tasks that dead letters of their workflows keep, as this process has found.
///
/// A dead letter keeps the tasks of its workflow for good. There may be a million of them, and each process
/// that works prunes once a minute: so it goes on behind them, and looks at them anew once an hour, as what has kept them may have gone.
/// Tasks whose workflow goes on are looked at each time, as they are to go soon after its end, and so is all behind the first of them.
final class KeptTasks: Sendable {
    private static let lookEvery = Duration.seconds(3600)

    private let places = Mutex<[QueueName: RetentionLook.Place]>([:])

    /// Where to begin in each queue whose first rows were looked at within the last hour.
    func places(at now: BootTime) -> [QueueName: RetentionLook.Place] {
        places.withLock { places in
            places = places.filter { $0.value.beganAt?.isRecent(at: now, within: Self.lookEvery) == true }
            return places
        }
    }

    /// Takes how far looks that have come to the end of their queues have found nothing else.
    func note(_ found: [RetentionLook.Place]) {
        places.withLock { places in
            for place in found { places[place.queue] = place }
        }
    }
}
