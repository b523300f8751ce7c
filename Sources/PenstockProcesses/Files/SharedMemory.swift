import Foundation
import PenstockCore

/// A file of the shared folder in memory that every process on it maps.
///
/// The file's name carries the version of its layout, so that programs of two releases never read each other's bytes. All
/// that is in it are integers of a fixed size. It begins with a header, by which a file that holds anything else is
/// known; such a file is made anew.
///
/// Processes that mapped a file before it was made anew keep the old one. They find each other no longer in this memory,
/// which costs time: nothing that must be right relies on it. A file that is cut while it is mapped kills the process
/// that next touches it (SIGBUS), as SQLite's own `-shm` does.
package final class SharedMemory: Sendable {
    /// What a file holds.
    package struct Layout: Sendable {
        /// The file's name within the folder, with the version.
        package var fileName: String
        package let version: Int
        /// Its size.
        package var byteCount: Int

        private let name: String

        package init(name: String, version: Int, byteCount: Int) {
            fileName = "\(name)-\(version)"
            self.version = version
            self.byteCount = byteCount
            self.name = name
        }

        /// Whether a file of that name holds the same, as another release lays it out.
        func isOtherVersion(_ fileName: String) -> Bool {
            fileName != self.fileName && fileName.hasPrefix("\(name)-")
                && Int(fileName.dropFirst(name.count + 1)) != nil
        }
    }

    // Unchecked, as a pointer is not Sendable. The memory stays mapped until the object is let go; what is in it is
    // reached through atomic integers, or by the one process that such an integer names.
    private struct Mapping: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
    }

    /// Bytes at the start that belong to the header.
    package static let headerByteCount = 64
    private static let makingMax = 3

    /// The open file.
    package let descriptor: Int32
    private let mapping: Mapping
    private let byteCount: Int

    /// Maps the file of that layout in `folder`. Makes it when it is missing, and anew when it is damaged.
    ///
    /// - Throws: ``PenstockError`` when it cannot be made, opened or mapped.
    package init(_ layout: Layout, in folder: SharedFolder) throws {
        byteCount = layout.byteCount
        (descriptor, mapping) = try Self.open(layout, in: folder)
    }

    deinit {
        munmap(mapping.start, byteCount)
        close(descriptor)
    }

    /// Where the memory begins, with the header.
    package var start: UnsafeMutableRawPointer { mapping.start }

    private static func open(_ layout: Layout, in folder: SharedFolder) throws -> (Int32, Mapping) {
        let path = folder.file(layout.fileName)
        for _ in 1...makingMax {
            let descriptor = try folder.open(path)
            do {
                if try prepare(descriptor, layout, path) { return (descriptor, try map(descriptor, layout, path)) }
            } catch {
                close(descriptor)
                throw error
            }
            close(descriptor)
            try folder.makeAnew(path)
        }
        throw PenstockError(.storage, "\(path) is damaged and cannot be made anew; remove it.")
    }

    /// Makes the file as long as it must be, and writes the header of a new one.
    ///
    /// - Returns: whether the file has this layout. One that is cut meanwhile has not.
    static func prepare(_ descriptor: Int32, _ layout: Layout, _ path: String) throws -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemErrors.failure("\(path) cannot be read", errno) }
        if status.st_size < layout.byteCount {
            // Room is taken now: on a full disk there may be none later. What another process has written stays.
            let failure = takeRoom(in: descriptor, from: status.st_size, to: off_t(layout.byteCount))
            if failure != 0 { throw SystemErrors.failure("\(path) cannot be made", failure) }
        }
        let wanted = header(of: layout)
        var found = [UInt8](repeating: 0, count: wanted.count)
        let count = SystemCall.uninterrupted { pread(descriptor, &found, found.count, 0) }
        if count < 0 { throw SystemErrors.failure("\(path) cannot be read", errno) }
        if found == wanted { return true }
        guard count == found.count, found.allSatisfy({ $0 == 0 }) else { return false }
        // Of several processes that find a new file each writes the same.
        let written = SystemCall.uninterrupted { pwrite(descriptor, wanted, wanted.count, 0) }
        if written < 0 { throw SystemErrors.failure("\(path) cannot be written", errno) }
        return written == wanted.count
    }

    /// Makes a file longer, with room on the disk.
    ///
    /// - Returns: 0, or why that cannot be, an `errno`.
    private static func takeRoom(in descriptor: Int32, from size: off_t, to newSize: off_t) -> Int32 {
        #if os(Linux)
            let result = SystemCall.uninterrupted {
                // It returns what other calls leave in `errno`.
                errno = posix_fallocate(descriptor, 0, newSize)
                return errno == 0 ? 0 : -1
            }
            return result == 0 ? 0 : errno
        #else
            #if canImport(Darwin)
                var room = fstore_t(
                    fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0,
                    fst_length: newSize - size,
                    fst_bytesalloc: 0)
                // Where the file system knows no such thing the room comes with what is written.
                let result = SystemCall.uninterrupted { fcntl(descriptor, F_PREALLOCATE, &room) }
                if result == -1, errno == ENOSPC { return ENOSPC }
            #endif
            return SystemCall.uninterrupted { ftruncate(descriptor, newSize) } == 0 ? 0 : errno
        #endif
    }

    /// Whether the file of that layout, open as `descriptor`, would be made anew by whoever opens it next, or was cut. One
    /// that is just being made is not damaged.
    static func isDamaged(_ descriptor: Int32, _ layout: Layout) -> Bool {
        var status = stat()
        var found = [UInt8](repeating: 0, count: headerByteCount)
        guard fstat(descriptor, &status) == 0,
            SystemCall.uninterrupted({ pread(descriptor, &found, found.count, 0) }) >= 0
        else { return false }
        if found.allSatisfy({ $0 == 0 }) { return false }
        return found != header(of: layout) || status.st_size < layout.byteCount
    }

    /// `penstock`, the file's name and its size in bytes: 64 bytes.
    private static func header(of layout: Layout) -> [UInt8] {
        let text = "penstock \(layout.fileName) \(layout.byteCount)\n"
        return Array(text.utf8.prefix(headerByteCount))
            + Array(repeating: 0, count: max(0, headerByteCount - text.utf8.count))
    }

    private static func map(_ descriptor: Int32, _ layout: Layout, _ path: String) throws -> Mapping {
        let start = mmap(nil, layout.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let start, start != MAP_FAILED else { throw SystemErrors.failure("\(path) cannot be mapped", errno) }
        return Mapping(start: start)
    }
}
