import Dispatch
import Foundation

/// Tells when a file is written to: so a test strikes in the middle of what another process does, without guessing at
/// times.
final class FileWatch {
    /// One element for each write that the kernel tells of; it may take several together.
    let writes: AsyncStream<Void>
    /// Finishing this ends ``writes``.
    let writing: AsyncStream<Void>.Continuation
    private let source: any DispatchSourceProtocol

    /// Watches the file at `path`, which must be there.
    init(_ path: String) throws {
        let (writes, writing) = AsyncStream.makeStream(of: Void.self)
        #if os(Linux)
            let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            guard descriptor >= 0, inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
                throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: path])
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
            source.setEventHandler {
                // An event of a file, and not of a folder, has no name: each has the same size.
                var buffer = [UInt8](repeating: 0, count: 64 * MemoryLayout<inotify_event>.size)
                let count = read(descriptor, &buffer, buffer.count) / MemoryLayout<inotify_event>.size
                for _ in 0..<max(0, count) { writing.yield() }
            }
        #else
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: path])
            }
            let source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: [.write, .extend], queue: .global())
            source.setEventHandler { writing.yield() }
        #endif
        source.setCancelHandler { close(descriptor) }
        source.activate()
        (self.writes, self.writing) = (writes, writing)
        self.source = source
    }

    deinit {
        source.cancel()
        writing.finish()
    }
}

extension Site {
    /// Starts `penstock` with `arguments`, and kills it once it has written to the file's log so many times, if it
    /// does not end before. Somebody must have the file open, so that the log is there.
    func strike(_ arguments: [String], afterWrites count: Int) async throws -> Child.End {
        let watch = try FileWatch("\(file)-wal")
        let child = try await start(arguments)
        let ended = Task { [writing = watch.writing] in
            _ = try? await child.end
            writing.finish()
        }
        var left = count
        for await _ in watch.writes {
            left -= 1
            if left == 0 { break }
        }
        child.send(SIGKILL)
        await ended.value
        return try await child.end
    }
}
