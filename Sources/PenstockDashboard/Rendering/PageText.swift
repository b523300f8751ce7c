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
            case _ where Self.isShown(scalar, after: previous, before: rest.first): safe.unicodeScalars.append(scalar)
            default: safe += Escape.text(String(scalar))
            }
            previous = scalar
        }
        return safe
    }

    /// Whether nothing of `text` is shown as something else: what a browser sends back of a field with it is what it was.
    static func shows(_ text: String) -> Bool {
        var previous: Unicode.Scalar?
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if !isShown(scalar, after: previous, before: rest.first) { return false }
            previous = scalar
        }
        return true
    }

    private static func isShown(
        _ scalar: Unicode.Scalar, after previous: Unicode.Scalar?, before next: @autoclosure () -> Unicode.Scalar?
    ) -> Bool {
        switch scalar {
        case "\n", "\t", "\\": true
        default: !Escape.isUnsafe(scalar, after: previous, before: next())
        }
    }
}
