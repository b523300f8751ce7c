import Mustache
import PenstockFormats

/// Makes foreign text a part of a page: what is in it can neither be markup nor pretend to be something else.
///
/// Mustache's own escape goes by characters as people see them, so it takes `<` with an accent on it for one that is not `<`; a
/// browser goes by code points. This one does so too. Characters that nobody sees, or that change the direction of others, are
/// shown as ``Escape`` shows them; line feeds and tabs stay, which are spaces in HTML but where text is preformatted.
struct PageText: MustacheContentType {
    /// What templates call it.
    static let name = "PAGE"

    func escapeText(_ text: String) -> String {
        var safe = ""
        safe.reserveCapacity(text.utf8.count)
        var previous: Unicode.Scalar?
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "<": safe += "&lt;"
            case ">": safe += "&gt;"
            case "&": safe += "&amp;"
            case "\"": safe += "&quot;"
            case "'": safe += "&#39;"
            case "\n", "\t", "\\": safe.unicodeScalars.append(scalar)
            case _ where Escape.isUnsafe(scalar, after: previous, before: rest.first):
                safe += Escape.text(String(scalar))
            default: safe.unicodeScalars.append(scalar)
            }
            previous = scalar
        }
        return safe
    }
}
