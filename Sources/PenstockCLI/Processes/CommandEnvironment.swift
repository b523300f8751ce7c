internal import CPenstockSystem
import Subprocess

extension Environment {
    /// The variables of this process, for each a name, `=`, a value and a zero byte; `nil`: all are text. Nothing changes them.
    private static let bytes: [[UInt8]]? = {
        var entries: [[UInt8]] = []
        var isText = true
        var next = penstock_environment()
        while let entry = next?.pointee {
            if String(validatingCString: entry) == nil { isText = false }
            entries.append(UnsafeBufferPointer(start: entry, count: strlen(entry) + 1).map { UInt8(bitPattern: $0) })
            next = next?.successor()
        }
        return isText ? nil : entries
    }()

    /// This process's environment, byte for byte. The library goes by text, and puts other characters where something is no UTF-8; by
    /// bytes it takes no name that begins with a digit. So it goes by bytes where it has to, and such names are left out there.
    ///
    /// - Parameter variables: what is set in it or, when it is `nil`, taken out.
    static func inherited(updating variables: [Key: String?]) -> Environment {
        guard var entries = bytes else { return .inherit.updating(variables) }
        let names = Set(variables.keys.map { Array($0.rawValue.utf8) })
        entries.removeAll { entry in
            let name = entry.prefix { $0 != UInt8(ascii: "=") }
            let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
            return name.count == entry.count || name.first.map(digits.contains) != false || names.contains(Array(name))
        }
        for case (let name, let value?) in variables { entries.append(Array("\(name.rawValue)=\(value)\0".utf8)) }
        return .custom(entries)
    }
}
