public import PenstockCore

/// Messages that wait for each other, put together task by task: chains, fan-out, fan-in, or any graph without a circle.
///
/// ```swift
/// var order = Workflow("order-17")
/// let charge = try order.add("charge", Charge(cents: 1900), to: payments)
/// let pack = try order.add("pack", Parcel(book: 17), to: packing, after: charge)
/// try order.add("mail", Mail(to: "ada@example.com"), to: mails, after: charge, pack)
/// try order.add("report", Report(order: 17), to: reports, after: .ended(pack))
/// try await store.start(order)
/// ```
///
/// A task names those that it waits for by what `add` gave for them, so each comes after them and
/// there is no circle. Nothing is in the store before ``PenstockStore`` is told to `start` it.
public struct Workflow: Sendable {
    /// Its name; `nil`: the store makes one. A workflow with a name is started once.
    public let name: String?
    /// The tasks so far, as a store takes them.
    public private(set) var tasks: [NewTask] = []

    private var names: Set<TaskName> = []
    private let origin = TaskReference.Origin()

    /// Makes a workflow without tasks.
    ///
    /// - Parameter name: a name that no other workflow of the store has, such as one made of an order's number; `nil`: the store
    ///   makes one. A start of a name that is there already makes nothing, so it can be made again when in doubt.
    public init(_ name: String? = nil) {
        self.name = name
    }

    /// Adds a task.
    ///
    /// - Parameters:
    ///   - name: a name that no other task of the workflow has.
    ///   - element: what its message carries, as the queue's codec writes it.
    ///   - queue: where its message goes.
    ///   - parents: what it waits for; with none it is in line as the workflow starts.
    ///   - options: as for an enqueue. A delay counts from when the task waits for no other any more. It has no unique
    ///     key: in a workflow the workflow's name is what is unique.
    /// - Returns: the task, for the `after` of others.
    /// - Throws: what the codec throws; `PenstockError` with code `invalidInput`. Then nothing was added.
    @discardableResult
    public mutating func add<Element>(
        _ name: String, _ element: Element, to queue: Queue<Element>, after parents: TaskReference...,
        options: EnqueueOptions = EnqueueOptions()
    ) throws -> TaskReference {
        try add(name, element, to: queue, after: parents, options: options)
    }

    /// Adds a task that waits for all of `parents`.
    ///
    /// It does as `add` of tasks that are named one by one.
    @discardableResult
    public mutating func add<Element>(
        _ name: String, _ element: Element, to queue: Queue<Element>, after parents: [TaskReference],
        options: EnqueueOptions = EnqueueOptions()
    ) throws -> TaskReference {
        try add(queue.task(name, element, options, dependencies(on: parents)))
    }

    /// Adds a task for each of `elements`, which do not wait for each other: `part-1`, `part-2` and so on for the name `part`.
    ///
    /// ```swift
    /// let split = try film.add("split", Film(id: 3), to: films)
    /// let parts = try film.add("part", contentsOf: (1...40).map { Part(number: $0) }, to: parts, after: split)
    /// try film.add("join", Film(id: 3), to: films, after: parts)
    /// ```
    ///
    /// - Parameters:
    ///   - name: what the tasks' names begin with.
    ///   - elements: what their messages carry.
    ///   - queue: where their messages go.
    ///   - parents: what each of them waits for.
    ///   - options: gives each one's options.
    /// - Returns: the tasks, in their order.
    /// - Throws: as `add` of one task, and what `options` throws.
    @discardableResult
    public mutating func add<Element>(
        _ name: String, contentsOf elements: some Sequence<Element>, to queue: Queue<Element>,
        after parents: TaskReference..., options: (Element) throws -> EnqueueOptions = { _ in EnqueueOptions() }
    ) throws -> [TaskReference] {
        let dependencies = try dependencies(on: parents)
        let added = try elements.enumerated().map { index, element in
            try queue.task("\(name)-\(index + 1)", element, options(element), dependencies)
        }
        // Of a fan-out of which one task cannot be, none is there.
        let before = self
        do {
            return try added.map { try add($0) }
        } catch {
            self = before
            throw error
        }
    }

    private mutating func add(_ task: NewTask) throws(PenstockError) -> TaskReference {
        guard task.message.uniqueKey == nil else {
            throw PenstockError(
                .invalidInput,
                "The task '\(task.name)' has a unique key; in a workflow it is the workflow's name that is unique.")
        }
        guard names.insert(task.name).inserted else {
            throw PenstockError(.invalidInput, "Two tasks are called '\(task.name)'; give each a name of its own.")
        }
        tasks.append(task)
        return TaskReference(name: task.name, origin: origin)
    }

    private func dependencies(on parents: [TaskReference]) throws(PenstockError) -> [Dependency] {
        for parent in parents where parent.origin != origin || !names.contains(parent.name) {
            throw PenstockError(
                .invalidInput,
                "The task '\(parent.name)' is one of another workflow; a task waits for those of its own.")
        }
        return parents.map { Dependency(on: $0.name, need: $0.need) }
    }

    /// The workflow as a store takes it.
    func new() throws(PenstockError) -> NewWorkflow {
        NewWorkflow(try name.map { name throws(PenstockError) in try WorkflowName(name) }, tasks: tasks)
    }

    /// The tasks, to be added to a workflow that runs.
    func added(to place: TaskPlace?, isAwaited: Bool) throws(PenstockError) -> AddedTasks {
        guard let place else {
            throw PenstockError(
                .invalidInput, "This message is no task of a workflow, so there is none that tasks could be added to.")
        }
        guard name == nil || name == place.workflow.text else {
            throw PenstockError(
                .invalidInput,
                "Tasks of a workflow '\(name ?? "")' cannot be added to '\(place.workflow)'; make it without a name.")
        }
        return AddedTasks(tasks, isAwaited: isAwaited)
    }
}

/// A task of a ``Workflow``, as others name it that wait for it: until it is done, unless it says otherwise.
public struct TaskReference: Hashable, Sendable {
    /// Tells the tasks of one workflow from those of others.
    final class Origin: Hashable, Sendable {
        static func == (left: Origin, right: Origin) -> Bool { left === right }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(self))
        }
    }

    /// The task's name.
    public let name: TaskName
    /// What is asked of it.
    public private(set) var need = Dependency.Need.done()
    let origin: Origin

    init(name: TaskName, origin: Origin) {
        self.name = name
        self.origin = origin
    }

    /// Waits until `task` is done. `whenDead` says what follows when it ends otherwise.
    public static func done(_ task: TaskReference, whenDead: Dependency.WhenDead) -> TaskReference {
        var task = task
        task.need = .done(whenDead: whenDead)
        return task
    }

    /// Waits until `task` has ended, in whichever way.
    public static func ended(_ task: TaskReference) -> TaskReference {
        var task = task
        task.need = .ended
        return task
    }
}

extension Queue {
    fileprivate func task(
        _ name: String, _ element: Element, _ options: EnqueueOptions, _ dependencies: [Dependency]
    ) throws -> NewTask {
        NewTask(
            try TaskName(name), queue: self.name, message: try message(element, options), dependencies: dependencies)
    }
}
