import Dispatch

/// What processes under test write, line by line: the signals that a test goes on at. Its end means that every process
/// that had the other side is gone.
actor Lines {
    /// Goes to the processes.
    nonisolated let writeEnd: FileDescriptor
    private let readEnd: FileDescriptor
    // A queue of its own: a blocked thread of the global queue would be one less for others.
    private let queue = DispatchQueue(label: "lines")
    private var pending: ArraySlice<UInt8> = []

    init() throws {
        (readEnd, writeEnd) = try FileDescriptor.pipe()
    }

    /// This process's own hold on the write end goes, so that only the processes under test have it.
    nonisolated func closeWriteEnd() throws {
        try writeEnd.close()
    }

    /// The next line, without its end; `nil` when nobody is left who could write one.
    func next() async throws -> String? {
        while true {
            if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                defer { pending = pending[(end + 1)...] }
                return String(decoding: pending[..<end], as: UTF8.self)
            }
            let more = try await read()
            if more.isEmpty {
                defer { pending = [] }
                return pending.isEmpty ? nil : String(decoding: pending, as: UTF8.self)
            }
            pending += more
        }
    }

    /// The next `count` lines.
    func next(_ count: Int) async throws -> [String] {
        var lines: [String] = []
        while lines.count < count, let line = try await next() { lines.append(line) }
        return lines
    }

    /// All lines up to the end.
    func rest() async throws -> [String] {
        try await next(.max)
    }

    private func read() async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [readEnd] in
                continuation.resume(
                    with: Result {
                        try [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                            count = try readEnd.read(into: UnsafeMutableRawBufferPointer(buffer))
                        }
                    })
            }
        }
    }

    deinit {
        try? readEnd.close()
    }
}
