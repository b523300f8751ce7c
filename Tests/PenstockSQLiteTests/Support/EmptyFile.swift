import Foundation
import PenstockSQLite
import PenstockTestKit

/// A file of the newest schema without queues, of which tests have copies: to go through all migrations takes longer than most
/// tests.
enum EmptyFile {
    private static let bytes = Task {
        let folder = TemporaryFolder()
        try await SQLiteStore.open(path: folder.file("empty.db")).close()
        return try Data(contentsOf: URL(filePath: folder.file("empty.db")))
    }

    /// Puts a copy at `path`, unless there is a file.
    static func make(at path: String) async throws {
        let bytes = try await bytes.value
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor < 0, errno == EEXIST { return }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: bytes)
        try file.close()
    }
}
