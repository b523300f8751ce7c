import Dispatch

/// A pipe to processes under test. That its end is read means that every process that held the other side is gone.
struct TestPipe: Sendable {
    /// Goes to the processes.
    let writeEnd: FileDescriptor
    private let readEnd: FileDescriptor
    // A queue of its own: a blocked thread of the global queue would be one less for the tasks under test.
    private let queue = DispatchQueue(label: "test-pipe")

    init() throws {
        (readEnd, writeEnd) = try FileDescriptor.pipe()
    }

    /// This process's own hold on the write end goes, so that only the processes under test have it.
    func closeWriteEnd() throws {
        try writeEnd.close()
    }

    /// The next bytes, up to `count`, once there are some; none at the end.
    func read(upTo count: Int) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [readEnd] in
                continuation.resume(
                    with: Result {
                        try [UInt8](unsafeUninitializedCapacity: count) { buffer, count in
                            count = try readEnd.read(into: UnsafeMutableRawBufferPointer(buffer))
                        }
                    })
            }
        }
    }

    /// The next line, without its end. Byte by byte, so that what follows it stays in the pipe.
    func readLine() async throws -> String {
        var bytes: [UInt8] = []
        while true {
            let next = try await read(upTo: 1)
            guard let byte = next.first, byte != 0x0A else { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Everything up to the end.
    func readToEnd() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let more = try await read(upTo: 65_536)
            if more.isEmpty { break }
            bytes += more
        }
        try readEnd.close()
        return bytes
    }
}
