extension String {
    /// The text, or the beginning of one that has more than `bytesMax` bytes in UTF-8, with a mark behind it.
    package func cut(to bytesMax: Int) -> String {
        if utf8.count <= bytesMax { return self }
        return String(decoding: utf8.prefix(bytesMax), as: UTF8.self) + "…"
    }
}
