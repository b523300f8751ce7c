import PenstockCore

extension Dependency: WireValue {
    package func write(to writer: inout WireWriter) { writer(task, need) }
    package init(from reader: inout WireReader) throws { try self.init(on: reader(), need: reader()) }
}

extension Dependency.WhenDead: WireCase {}

extension Dependency.Need: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .done(let whenDead): writer(0 as UInt8, whenDead)
        case .ended: writer(1 as UInt8)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .done(whenDead: try reader())
            case 1: .ended
            default: throw PenstockError.noWireValue
            }
    }
}

extension DependencyState: WireCase {}

extension DependencyRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(dependency, state) }
    package init(from reader: inout WireReader) throws { try self.init(reader(), state: reader()) }
}

extension NewTask: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, queue, message, dependencies) }
    package init(from reader: inout WireReader) throws {
        try self.init(reader(), queue: reader(), message: reader(), dependencies: reader())
    }
}

extension NewWorkflow: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, tasks) }
    package init(from reader: inout WireReader) throws { try self.init(reader(), tasks: reader()) }
}

extension AddedTasks: WireValue {
    package func write(to writer: inout WireWriter) { writer(tasks, isAwaited) }
    package init(from reader: inout WireReader) throws { try self.init(reader(), isAwaited: reader()) }
}

extension StartedWorkflow: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, receipts, isNew) }
    package init(from reader: inout WireReader) throws {
        try self.init(name: reader(), receipts: reader(), isNew: reader())
    }
}

extension TaskPlace: WireValue {
    package func write(to writer: inout WireWriter) { writer(workflow, task) }
    package init(from reader: inout WireReader) throws { try self.init(workflow: reader(), task: reader()) }
}

extension WorkflowQuery: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, after, preceding, end, limit) }
    package init(from reader: inout WireReader) throws {
        try self.init(name: reader(), after: reader(), preceding: reader(), end: reader(), limit: reader())
    }
}

extension WorkflowRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(id, name, startedAt, cancelledAt, counts) }

    package init(from reader: inout WireReader) throws {
        try self.init(id: reader(), name: reader(), startedAt: reader(), cancelledAt: reader(), counts: reader())
    }
}

extension TaskQuery: WireValue {
    package func write(to writer: inout WireWriter) { writer(workflow, name, after, limit, withResult) }

    package init(from reader: inout WireReader) throws {
        try self.init(reader(), name: reader(), after: reader(), limit: reader(), withResult: reader())
    }
}

extension TaskRecord: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(name, sequence, queue, state, reason, dependencies, result)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            name: reader(), sequence: reader(), queue: reader(), state: reader(), reason: reader(),
            dependencies: reader(), result: reader())
    }
}

extension StepRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, result, recordedAt) }
    package init(from reader: inout WireReader) throws {
        try self.init(name: reader(), result: reader(), recordedAt: reader())
    }
}

extension MessageJournal: WireValue {
    package func write(to writer: inout WireWriter) { writer(steps, awaited, result, task) }
    package init(from reader: inout WireReader) throws {
        try self.init(steps: reader(), awaited: reader(), result: reader(), task: reader())
    }
}

extension NewEvent: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, payload) }
    package init(from reader: inout WireReader) throws { try self.init(reader(), payload: reader()) }
}

extension EventTarget: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .message(let sequence): writer(0 as UInt8, sequence)
        case .workflow(let name): writer(1 as UInt8, name)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .message(try reader())
            case 1: .workflow(try reader())
            default: throw PenstockError.noWireValue
            }
    }
}
