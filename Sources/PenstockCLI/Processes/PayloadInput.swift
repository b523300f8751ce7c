internal import CPenstockSystem
import PenstockFormats

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A payload as a command's standard input, complete before the command starts.
///
/// Were it written while the command runs, a worker that is killed would close the pipe half-way, and a command could
/// take a part of the payload for the whole in the moment before it is killed itself.
enum PayloadInput {
    /// What every pipe holds at least, once it is asked to.
    static let pipeBytesMax = 64 * 1024

    /// A descriptor from which `payload` and then its end is read. The caller closes it.
    ///
    /// - Throws: ``Failure`` when there is no room for it; ``Shortage``.
    static func open(_ payload: [UInt8]) throws -> FileDescriptor {
        do {
            if payload.count <= pipeBytesMax, let pipe = try filledPipe(payload) { return pipe }
            return try namelessFile(payload)
        } catch {
            if let shortage = Shortage(error) { throw shortage }
            throw Failure(
                .inputOutput,
                "A payload of \(payload.count) bytes cannot be handed to the command, by way of a file in \(Escape.text(folder)) (\(error)); have TMPDIR name a folder where there is room."
            )
        }
    }

    /// A pipe that holds all of `payload`; `nil` when it does not take that much at once.
    private static func filledPipe(_ payload: [UInt8]) throws -> FileDescriptor? {
        // Processes that are started meanwhile do not inherit it: the library closes everything in them.
        let (readEnd, writeEnd) = try FileDescriptor.pipe()
        defer { try? writeEnd.close() }
        _ = fcntl(writeEnd.rawValue, F_SETFL, O_NONBLOCK)
        if payload.isEmpty || write(writeEnd.rawValue, payload, payload.count) == payload.count { return readEnd }
        try readEnd.close()
        return nil
    }

    private static var folder: String { FileManager.default.temporaryDirectory.path }

    /// A file that holds `payload`, and is gone with its last descriptor. In memory where the system has such files: a payload is there
    /// anyway, and a worker may have no folder that it may write.
    private static func namelessFile(_ payload: [UInt8]) throws -> FileDescriptor {
        let inMemory = penstock_memory_file()
        let file: FileDescriptor
        if inMemory >= 0 {
            file = FileDescriptor(rawValue: inMemory)
        } else {
            let path = FilePath("\(folder)/penstock-\(UInt64.random(in: 0 ... .max))")
            file = try FileDescriptor.open(
                path, .readWrite, options: [.create, .exclusiveCreate, .closeOnExec], permissions: .ownerReadWrite)
            unlink(path.string)
        }
        do {
            try file.writeAll(payload)
            try file.seek(offset: 0, from: .start)
            return file
        } catch {
            try? file.close()
            throw error
        }
    }
}
