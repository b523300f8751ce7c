internal import CPenstockSystem
import Subprocess

extension Environment {
    /// The variables of this process, for each a name, `=`, a value and a zero byte; `nil` where the library is to go by text. Nothing
    /// changes them.
    ///
    /// By text it makes a dictionary of all of them for each command, twice, and puts other characters where something is no UTF-8.
    /// By bytes it takes no name that begins with a digit: where there is one and all is text it goes by that, and else without such names.
    private static let bytes: [[UInt8]]? = {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        var entries: [[UInt8]] = []
        var (isText, isTaken) = (true, true)
        var next = penstock_environment()
        while let entry = next?.pointee {
            next = next?.successor()
            if String(validatingCString: entry) == nil { isText = false }
            let bytes = UnsafeBufferPointer(start: entry, count: strlen(entry) + 1).map { UInt8(bitPattern: $0) }
            guard bytes.contains(UInt8(ascii: "=")) else { continue }
            if digits.contains(bytes[0]) { isTaken = false } else { entries.append(bytes) }
        }
        return isTaken || !isText ? entries : nil
    }()

    /// This process's environment, byte for byte.
    ///
    /// - Parameter variables: what is set in it or, when it is `nil`, taken out.
    static func inherited(updating variables: [Key: String?]) -> Environment {
        guard let bytes else { return .inherit.updating(variables) }
        let names = variables.keys.map { Array("\($0.rawValue)=".utf8) }
        var entries = bytes.filter { entry in !names.contains { entry.starts(with: $0) } }
        for case (let name, let value?) in variables { entries.append(Array("\(name.rawValue)=\(value)\0".utf8)) }
        return .custom(entries)
    }
}
