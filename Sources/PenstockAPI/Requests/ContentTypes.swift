import HTTPTypes
import Hummingbird

extension Request {
    /// Whether the client wants this type of content, by name. One that gives it the weight 0 does not (RFC 9110, 12.4.2).
    func accepts(_ type: String) -> Bool {
        headers[values: .accept].contains { value in
            value.split(separator: ",").contains { $0.typeName == type && $0.weight != 0 }
        }
    }
}

extension StringProtocol {
    /// Without the spaces at its ends.
    fileprivate func trimming() -> String {
        // In bytes: to find out where characters end takes longer than all else that is done with a header.
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let front = Array(utf8.drop(while: isSpace))
        let end = front.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? 0
        return String(decoding: front[..<end], as: UTF8.self)
    }

    /// The weight among the parameters that follow the name of a type of content; 1 where there is none.
    fileprivate var weight: Double {
        let weights = split(separator: ";").dropFirst().map { $0.trimming().lowercased() }.filter { $0.hasPrefix("q=") }
        return weights.first.flatMap { Double($0.dropFirst(2)) } ?? 1
    }

    /// Without the parameters that follow the name of a type of content, in small letters.
    var typeName: String {
        String(decoding: utf8.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self).trimming().lowercased()
    }
}
