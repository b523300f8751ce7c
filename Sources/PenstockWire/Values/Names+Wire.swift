package import PenstockCore

/// A name goes as its text.
package protocol WireName: WireValue, StoreName {
    init(stored text: String)
}

extension WireName {
    package func write(to writer: inout WireWriter) { writer(text) }

    package init(from reader: inout WireReader) throws {
        let text: String = try reader()
        if reader.isFromStore { self.init(stored: text) } else { try self.init(text) }
    }
}

extension QueueName: WireName {}
extension CursorName: WireName {}
extension LimitName: WireName {}
extension WorkerName: WireName {}
extension ScheduleName: WireName {}
extension WorkflowName: WireName {}
extension TaskName: WireName {}
extension StepName: WireName {}
extension EventName: WireName {}

extension SequenceNumber: WireValue {
    package func write(to writer: inout WireWriter) { writer(rawValue) }
    package init(from reader: inout WireReader) throws { try self.init(reader() as Int64) }
}

extension StoreID: WireValue {
    package func write(to writer: inout WireWriter) { writer(rawValue) }
    package init(from reader: inout WireReader) throws { try self.init(rawValue: reader()) }
}

extension Timestamp: WireValue {
    package func write(to writer: inout WireWriter) { writer(microseconds) }
    package init(from reader: inout WireReader) throws { try self.init(microseconds: reader()) }
}

extension Lease: WireValue {
    package func write(to writer: inout WireWriter) { writer(sequence, token.rawValue) }
    package init(from reader: inout WireReader) throws {
        try self.init(sequence: reader(), token: LeaseToken(rawValue: reader()))
    }
}

extension MessageState: WireCase {}
extension StateReason: WireCase {}
extension AttemptOutcome: WireCase {}
extension Durability: WireCase {}
