internal import CPenstockSystem
import Subprocess

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension Environment {
    /// This process's environment, byte for byte: the library goes by text, and puts other characters where something is no UTF-8.
    ///
    /// - Parameter variables: what is set in it or, when it is `nil`, taken out.
    static func inherited(updating variables: [Key: String?]) -> Environment {
        let names = Set(variables.keys.map { Array($0.rawValue.utf8) })
        var entries: [[UInt8]] = []
        var next = penstock_environment()
        while let entry = next?.pointee {
            let bytes = UnsafeBufferPointer(start: entry, count: strlen(entry)).map { UInt8(bitPattern: $0) }
            let name = bytes.prefix { $0 != UInt8(ascii: "=") }
            // What has no name cannot be handed on.
            if !name.isEmpty, name.count < bytes.count, !names.contains(Array(name)) { entries.append(bytes + [0]) }
            next = next?.successor()
        }
        for case (let name, let value?) in variables { entries.append(Array("\(name.rawValue)=\(value)\0".utf8)) }
        return .custom(entries)
    }
}
