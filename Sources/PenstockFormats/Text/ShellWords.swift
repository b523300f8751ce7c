import PenstockCore

/// Words of a shell, for commands that somebody is advised to type.
package enum ShellWords {
    /// What follows the options of a command, each text as one word. What any producer has called something is no command of the shell in
    /// it, and no option. It is made safe to show; a text that nobody could type, of control characters say, comes as another one.
    package static func arguments(_ texts: String...) -> String {
        let hasOption = texts.contains { $0.utf8.first == UInt8(ascii: "-") }
        return Escape.line(((hasOption ? ["--"] : []) + texts.map(word)).joined(separator: " "))
    }

    private static func word(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            byte.isLetterOrDigit || "_./".utf8.contains(byte) || byte == UInt8(ascii: "-") && text.utf8.first != byte
        }
        if isPlain, !text.isEmpty { return text }
        // By code points, as a shell reads: a quote with an accent is no quote for a search by characters.
        var word = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" { word += "'\\''" } else { word.unicodeScalars.append(scalar) }
        }
        return word + "'"
    }
}
