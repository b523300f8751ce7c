import Dispatch

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

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

    /// The next bytes, once there are some; none at the end.
    func read() async throws -> [UInt8] {
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

    /// The next line, without its end.
    func readLine() async throws -> String {
        var bytes: [UInt8] = []
        while bytes.last != 0x0A {
            let more = try await read()
            if more.isEmpty { break }
            bytes += more
        }
        if bytes.last == 0x0A { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Everything up to the end.
    func readToEnd() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let more = try await read()
            if more.isEmpty { break }
            bytes += more
        }
        try readEnd.close()
        return bytes
    }
}
