/// A subscriber as one reference, for what is handed on with each value: a copy of `AnySubscriber` holds four.
@usableFromInline
final class SubscriberReference<Input, Failure: Error> {
    @usableFromInline let subscriber: AnySubscriber<Input, Failure>

    @inlinable init(_ subscriber: AnySubscriber<Input, Failure>) {
        self.subscriber = subscriber
    }
}
