internal import CPenstockSystem

/// The words that this process was started with.
///
/// On Linux the standard library finds them by way of /proc and the environment, and has none where a library that was loaded before it has moved
/// the environment. So they are what the C library has given, where it gives them.
enum ProcessArguments {
    /// Without the program's name; what is no text is repaired.
    static let own: [String] = all.dropFirst().map { word in word.map { String(cString: $0) } ?? "" }

    /// Whether there is not even the program's name.
    static var areUnknown: Bool { all.isEmpty }

    /// The place of the first one that is not text; `nil`: they all are.
    static var placeOfNoText: Int? {
        let words = all
        return words.indices.dropFirst().first { index in
            guard let word = words[index] else { return false }
            return String(validatingCString: word) == nil
        }
    }

    private static var all: UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?> {
        var count: Int32 = 0
        if let words = penstock_arguments(&count) {
            return UnsafeMutableBufferPointer(start: words, count: Int(count))
        }
        return UnsafeMutableBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
    }
}
