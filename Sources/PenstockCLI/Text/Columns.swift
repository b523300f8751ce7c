/// How many columns text takes on a terminal.
enum Columns {
    static func width(of text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + width(of: $1) }
    }

    /// `text`, or its beginning and `…` when it is wider than `most` columns.
    static func cut(_ text: String, to most: Int) -> String {
        guard width(of: text) > most else { return text }
        var kept = ""
        var used = 0
        for character in text {
            let width = width(of: character)
            guard used + width < most else { break }
            kept.append(character)
            used += width
        }
        return kept + "…"
    }

    private static func width(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        return isWide(scalar) || scalar.properties.isEmojiPresentation ? 2 : 1
    }

    /// Whether `scalar` lies in one of the blocks whose characters are wide: East Asian Width W and F (Unicode
    /// Standard Annex 11), by whole blocks, which is what terminals do.
    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
            0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
