internal import PenstockCore

extension Delivery {
    /// Says how far the work on the message has come, for people: `penstock show`, ``/PenstockCore/MessageRecord/progress`` and the view
    /// `penstock_running` have it until the message leaves its worker.
    ///
    /// It returns at once and may be called as often as you like: what was said last is written, once a second at most for all that
    /// the process works on in the queue. A worker that has lost the message writes nothing.
    ///
    /// - Parameters:
    ///   - fraction: from 0 to 1; a number outside of that counts as the nearest.
    ///   - text: a few words; of more than `Limits.progressBytesMax` bytes the beginning is kept.
    public func progress(_ fraction: Double, _ text: String = "") {
        holder.progress.report(MessageProgress(fraction, text).fitting, of: lease)
    }

    /// Says in words how far the work on the message has come. It does as ``progress(_:_:)``.
    public func progress(_ text: String) {
        holder.progress.report(MessageProgress(nil, text).fitting, of: lease)
    }
}
