internal import CPenstockSystem
import Subprocess

extension Environment {
    /// This process's environment, byte for byte.
    ///
    /// By text the library makes a dictionary of all variables for each command, twice, and puts other characters where something is no UTF-8.
    /// By bytes it takes no name that begins with a digit: where there is one and all is text it goes by that, and else without such names.
    static let ofThisProcess: Environment = {
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
        return isTaken || !isText ? .custom(entries) : .inherit
    }()
}
