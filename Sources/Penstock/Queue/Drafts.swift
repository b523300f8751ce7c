public import PenstockCore

/// Messages for a queue that go in line as another message is done.
extension Queue {
    /// A message for this queue, for ``Delivery/done(then:timeout:)``. Nothing is in line before that.
    ///
    /// ```swift
    /// try await delivery.done(then: [thumbnails.draft(picture), mails.draft(mail, options: .init(priority: 5))])
    /// ```
    ///
    /// - Parameters:
    ///   - element: what the message carries, as the queue's codec writes it.
    ///   - options: headers, priority, due time and attempts, as for an enqueue. It has no unique key: where a message with its key
    ///     was in line already, what the other message gave would be lost.
    /// - Throws: what the codec throws; `PenstockError` with code `invalidInput` for a unique key.
    public func draft(_ element: Element, options: EnqueueOptions = EnqueueOptions()) throws -> Draft {
        var message = try message(element, options)
        if let tracing = handle.tracing { message.headers = tracing.carried(message.headers) }
        let draft = Draft(message, to: name)
        try draft.refuseUniqueKey()
        return draft
    }

    /// Messages for this queue, in their order, for ``Delivery/done(then:timeout:)``.
    ///
    /// - Parameters:
    ///   - elements: what the messages carry, as the queue's codec writes it.
    ///   - options: gives each element's options.
    /// - Throws: as ``draft(_:options:)-(Element,_)``, and what `options` throws.
    public func drafts(
        contentsOf elements: some Sequence<Element>,
        options: (Element) throws -> EnqueueOptions = { _ in EnqueueOptions() }
    ) throws -> [Draft] {
        try elements.map { try draft($0, options: options($0)) }
    }
}
