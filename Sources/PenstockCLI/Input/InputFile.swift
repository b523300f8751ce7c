import Penstock
import PenstockCore

/// A file to read, or standard input.
struct InputFile {
    let descriptor: Descriptor
    /// What errors call it.
    let name: String

    /// Opens the file at `path`; standard input when that is `nil` or `-`.
    ///
    /// - Throws: ``Failure`` when the file cannot be read, or when standard input is a terminal and nobody said `-`.
    static func open(_ path: String?) throws(Failure) -> InputFile {
        guard let path, path != "-" else {
            if path == nil && Descriptor.standardInput.isTerminal {
                throw Failure(
                    .usage, "There is no payload; write it after the queue, or - to type it here, or use --file.")
            }
            return InputFile(descriptor: .standardInput, name: "Standard input")
        }
        if path.isEmpty {
            throw Failure(.usage, "The file's path is empty; name a file, or - for standard input.")
        }
        let number = SystemCall.uninterrupted { systemOpen(path, O_RDONLY | O_CLOEXEC) }
        guard number >= 0 else {
            let failure = SystemFailure(code: errno)
            let status: ShellStatus = failure.code == ENOENT ? .missing : .inputOutput
            throw Failure(status, "\(path) cannot be read (\(failure)); check the path and its permissions.")
        }
        return InputFile(descriptor: Descriptor(number), name: path)
    }

    /// The payload that a command is given: the argument itself, or what is in the file or in standard input.
    static func payload(_ argument: String?, orOf path: String?) throws(Failure) -> [UInt8] {
        if let argument, argument != "-" { return Array(argument.utf8) }
        return try readAll(path ?? argument, bytesMax: Limits.payloadBytesMax)
    }

    /// Everything that is in the file at `path`; in standard input when that is `nil` or `-`.
    ///
    /// - Parameters:
    ///   - bytesMax: how much it may be.
    ///   - limit: what that limit is called.
    ///   - remedy: what to do when it is more.
    /// - Throws: as ``open(_:)``; ``Failure`` when it is more than `bytesMax`, or cannot be read.
    static func readAll(
        _ path: String?, bytesMax: Int, limit: String = "payloadBytesMax",
        remedy: String = "put it into a file that the payload names"
    ) throws(Failure) -> [UInt8] {
        let input = try open(path)
        defer { input.close() }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 256 * 1024)
        while true {
            let count: Int
            do {
                count = try chunk.withUnsafeMutableBytes { buffer throws(SystemFailure) in
                    try input.descriptor.read(into: buffer)
                }
            } catch {
                throw Failure(.inputOutput, "\(input.name) cannot be read: \(error).")
            }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= bytesMax else {
                throw Failure(.usage, "\(input.name) has more than \(bytesMax) bytes (\(limit)); \(remedy).")
            }
        }
    }

    func close() { if descriptor != .standardInput { _ = systemClose(descriptor.number) } }
}
