import Foundation

/// What this repository shows to its readers: README.md, and the pages of every product's documentation catalogue.
enum Documents {
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The paths of all documents, from the root.
    static let all: [String] =
        ["README.md"] + paths(in: "Sources") { $0.hasSuffix(".md") && $0.contains(".docc/") }

    /// The paths of all test files.
    static let tests: [String] = paths(in: "Tests") { $0.hasSuffix(".swift") }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The blocks of a document that are fenced as `language`.
    static func blocks(_ language: String, in path: String) throws -> [String] {
        try text(path).components(separatedBy: "\n```\(language)\n").dropFirst().map { rest in
            rest.components(separatedBy: "\n```")[0]
        }
    }

    /// The code of a test file that is shown somewhere: between the marks `// shown` and `// end`, without the indentation
    /// of the first line.
    static func shown(in path: String) throws -> [String] {
        var found: [String] = []
        var lines: [Substring]?
        for line in try text(path).split(separator: "\n", omittingEmptySubsequences: false) {
            switch line.trimmingCharacters(in: .whitespaces) {
            case "// shown": lines = []
            case "// end":
                let indentation = lines?.first?.prefix { $0 == " " }.count ?? 0
                found.append((lines ?? []).map { $0.dropFirst(indentation) }.joined(separator: "\n"))
                lines = nil
            default: lines?.append(line)
            }
        }
        return found
    }

    private static func paths(in folder: String, where isWanted: (String) -> Bool) -> [String] {
        let all = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
        let paths = all?.compactMap { $0 as? String } ?? []
        return paths.filter(isWanted).map { "\(folder)/\($0)" }.sorted()
    }
}
