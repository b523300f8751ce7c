import Mustache

/// What a template is filled with. Values are texts, flags, lists of the like, and ``Markup``; what is missing is nothing.
typealias Fields = [String: Any]

/// HTML that this program has made, and that holds nothing foreign: templates take it with three braces.
typealias Markup = String

/// The templates of the pages, which are part of the program.
enum Templates {
    /// The page that the template makes of `fields`.
    static func render(_ name: String, _ fields: Fields) -> String {
        // Every template is there and can be read: a test renders each.
        library.render(fields, withTemplate: name) ?? ""
    }

    /// Names of all templates.
    static var names: [String] { sources.map(\.name).sorted() }

    // Read when the first page is asked for, and not when the server starts.
    private static let library: MustacheLibrary = {
        MustacheContentTypes.register(PageText(), named: PageText.name)
        var library = MustacheLibrary()
        for (name, source) in sources {
            let text = "{{% CONTENT_TYPE:\(PageText.name)}}" + source
            do {
                try library.register(text, named: name)
            } catch {
                preconditionFailure("The template \(name) cannot be read: \(error)")
            }
        }
        return library
    }()

    private static var sources: [(name: String, text: String)] {
        let ending = ".mustache"
        return EmbeddedFile.all.filter { $0.name.hasSuffix(ending) }.map { file in
            (name: String(file.name.dropLast(ending.count)), text: file.text)
        }
    }
}
