private import CPenstockDashboard

/// A file in `Resources`, which is a part of the program.
struct EmbeddedFile {
    /// Its name, such as `style.css`.
    let name: String
    private let index: Int32

    /// What it holds.
    var text: String { String(cString: penstock_dashboard_file_at(index).text) }

    /// Every file. A test holds them against the folder.
    static var all: [EmbeddedFile] { (0..<penstock_dashboard_file_count()).map(EmbeddedFile.init) }

    /// What the file of that name holds, which must be there.
    static func text(of name: String) -> String {
        guard let file = all.first(where: { $0.name == name }) else {
            preconditionFailure("The program has no file \(name); list it in Embedded/files.c.")
        }
        return file.text
    }

    private init(at index: Int32) {
        name = String(cString: penstock_dashboard_file_at(index).name)
        self.index = index
    }
}
