internal import Crypto
internal import Foundation
public import Penstock

/// A secret key, and the name under which headers speak of it.
public struct EncryptionKey: Sendable, CustomStringConvertible {
    /// By what name headers know it: 1 to 100 letters, digits, `.`, `-` or `_`. Everybody can read it.
    public let id: String
    fileprivate let bytes: [UInt8]

    /// Makes a key.
    ///
    /// - Parameters:
    ///   - id: its name, which no other key has and will have.
    ///   - bytes: the secret: 16, 24 or 32 bytes, of chance.
    /// - Throws: `PenstockError` with code `invalidInput`.
    public init(id: String, bytes: [UInt8]) throws(PenstockError) {
        let isName = (1...100).contains(id.utf8.count) && id.utf8.allSatisfy(Self.isNameByte)
        guard isName else {
            throw PenstockError(.invalidInput, "The name of a key has 1 to 100 letters, digits, '.', '-' or '_'.")
        }
        guard [16, 24, 32].contains(bytes.count) else {
            throw PenstockError(.invalidInput, "The key '\(id)' has \(bytes.count) bytes; a key has 16, 24 or 32.")
        }
        self.id = id
        self.bytes = bytes
    }

    /// Its name, and nothing of the secret.
    public var description: String { "EncryptionKey(\(id))" }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// Encrypts payloads with AES-GCM: `aes-gcm:KEY` in the header, where KEY is the key's name.
///
/// Messages are encrypted with one key and read with all of them, so keys can be changed while messages wait: first every process
/// gets the new key among the others, then one after the other encrypts with it, and the old one goes when no message needs it.
///
/// | bytes | |
/// |---|---|
/// | 12 | nonce, of chance: 2³² messages with one key are the most that is safe (NIST SP 800-38D) |
/// | as many as the payload has | the payload, encrypted |
/// | 16 | tag; it is also over the text `aes-gcm:KEY` |
public struct AESGCMCodec: ByteCodec {
    /// `aes-gcm`.
    public let name = "aes-gcm"
    private let current: EncryptionKey
    private let keys: [String: EncryptionKey]

    /// Makes the codec.
    ///
    /// - Parameters:
    ///   - current: what messages are encrypted with.
    ///   - others: with what else they are read.
    /// - Throws: `PenstockError` with code `invalidInput` when two keys have the same name.
    public init(_ current: EncryptionKey, others: [EncryptionKey] = []) throws(PenstockError) {
        var keys: [String: EncryptionKey] = [:]
        for key in [current] + others where keys.updateValue(key, forKey: key.id) != nil {
            throw PenstockError(.invalidInput, "Two keys are called '\(key.id)'; each has a name of its own.")
        }
        self.current = current
        self.keys = keys
    }

    /// The encrypted bytes, 28 more.
    public func encode(_ bytes: [UInt8]) throws -> CodedBytes? {
        let box = try AES.GCM.seal(
            bytes, using: SymmetricKey(data: current.bytes), authenticating: authenticated(current.id))
        return CodedBytes(Array(box.nonce) + Array(box.ciphertext) + Array(box.tag), parameter: current.id)
    }

    /// The bytes before they were encrypted.
    ///
    /// - Throws: `PenstockError` with code `undecodable` when it has not the key, or somebody has changed the bytes.
    public func decode(_ coded: CodedBytes) throws -> [UInt8] {
        guard let key = coded.parameter.flatMap({ keys[$0] }) else {
            throw PenstockError(
                .undecodable, "There is no key called '\(coded.parameter ?? "")' here; add it to the others.")
        }
        do {
            let box = try AES.GCM.SealedBox(combined: coded.bytes)
            return try [UInt8](
                AES.GCM.open(box, using: SymmetricKey(data: key.bytes), authenticating: authenticated(key.id)))
        } catch {
            throw PenstockError(
                .undecodable, "It was changed, or was encrypted with another key than the one called '\(key.id)' here.",
                cause: error)
        }
    }

    private func authenticated(_ id: String) -> [UInt8] { Array("\(name):\(id)".utf8) }
}
