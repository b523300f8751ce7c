import PenstockCore

extension Dependency: WireValue {
    package func write(to writer: inout WireWriter) { writer(task, need) }
    package init(from reader: inout WireReader) throws { self.init(on: try reader(), need: try reader()) }
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
    package init(from reader: inout WireReader) throws { self.init(try reader(), state: try reader()) }
}

extension NewTask: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, queue, message, dependencies) }
    package init(from reader: inout WireReader) throws {
        self.init(try reader(), queue: try reader(), message: try reader(), dependencies: try reader())
    }
}

extension NewWorkflow: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, tasks) }
    package init(from reader: inout WireReader) throws { self.init(try reader(), tasks: try reader()) }
}

extension AddedTasks: WireValue {
    package func write(to writer: inout WireWriter) { writer(tasks, isAwaited) }
    package init(from reader: inout WireReader) throws { self.init(try reader(), isAwaited: try reader()) }
}

extension StartedWorkflow: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, receipts, isNew) }
    package init(from reader: inout WireReader) throws {
        self.init(name: try reader(), receipts: try reader(), isNew: try reader())
    }
}

extension TaskPlace: WireValue {
    package func write(to writer: inout WireWriter) { writer(workflow, task) }
    package init(from reader: inout WireReader) throws { self.init(workflow: try reader(), task: try reader()) }
}

extension WorkflowQuery: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, after, preceding, end, limit) }
    package init(from reader: inout WireReader) throws {
        self.init(
            name: try reader(), after: try reader(), preceding: try reader(), end: try reader(), limit: try reader())
    }
}

extension WorkflowRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(id, name, startedAt, cancelledAt, counts) }

    package init(from reader: inout WireReader) throws {
        self.init(
            id: try reader(), name: try reader(), startedAt: try reader(), cancelledAt: try reader(),
            counts: try reader())
    }
}

extension TaskQuery: WireValue {
    package func write(to writer: inout WireWriter) { writer(workflow, name, after, limit, withResult) }

    package init(from reader: inout WireReader) throws {
        self.init(
            try reader(), name: try reader(), after: try reader(), limit: try reader(), withResult: try reader())
    }
}

extension TaskRecord: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(name, sequence, queue, state, reason, dependencies, result)
    }

    package init(from reader: inout WireReader) throws {
        self.init(
            name: try reader(), sequence: try reader(), queue: try reader(), state: try reader(),
            reason: try reader(), dependencies: try reader(), result: try reader())
    }
}

extension StepRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, result, recordedAt) }
    package init(from reader: inout WireReader) throws {
        self.init(name: try reader(), result: try reader(), recordedAt: try reader())
    }
}

extension MessageJournal: WireValue {
    package func write(to writer: inout WireWriter) { writer(steps, awaited, result, task) }
    package init(from reader: inout WireReader) throws {
        self.init(steps: try reader(), awaited: try reader(), result: try reader(), task: try reader())
    }
}

extension NewEvent: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, payload) }
    package init(from reader: inout WireReader) throws { self.init(try reader(), payload: try reader()) }
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
