import Dispatch
import Foundation

/// Tells when a file, or any file of a folder, is made, written to or removed: so a test strikes in the middle of what
/// another process does, without guessing at times.
final class FileWatch {
    /// One element for each write that the kernel tells of; it may take several together.
    let writes: AsyncStream<Void>
    /// Finishing this ends ``writes``.
    let writing: AsyncStream<Void>.Continuation
    private let source: any DispatchSourceProtocol

    /// Watches the file or the folder at `path`, which must be there.
    init(_ path: String) throws {
        let (writes, writing) = AsyncStream.makeStream(of: Void.self)
        #if os(Linux)
            let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            guard descriptor >= 0, inotify_add_watch(descriptor, path, UInt32(IN_MODIFY | IN_CREATE | IN_DELETE)) >= 0
            else {
                throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: path])
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
            source.setEventHandler {
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = read(descriptor, &buffer, buffer.count)
                buffer.withUnsafeBytes { bytes in
                    var place = 0
                    while place < count {
                        // One of a folder ends with the file's name.
                        let event = bytes.loadUnaligned(fromByteOffset: place, as: inotify_event.self)
                        place += MemoryLayout<inotify_event>.size + Int(event.len)
                        writing.yield()
                    }
                }
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
    /// Starts `penstock` with `arguments`, and kills it once the file's log was written to so many times, if it does not
    /// end before. Somebody must have the file open, so that the log is there.
    ///
    /// - Parameter path: what is watched instead of the log.
    func strike(_ arguments: [String], afterWrites count: Int, to path: String? = nil) async throws -> Child.End {
        let watch = try FileWatch(path ?? "\(file)-wal")
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
