import Foundation
import Penstock
import PenstockCodecs
import Testing

@Suite(.timeLimit(.minutes(5))) struct AESGCMTests {
    private let payload = Array(#"{"to":"ada@example.org"}"#.utf8)
    private let old: EncryptionKey
    private let new: EncryptionKey

    init() throws {
        old = try EncryptionKey(id: "2026-01", bytes: Array(0..<32))
        new = try EncryptionKey(id: "2026-02", bytes: Array(100..<116))
    }

    private func code(_ body: () throws -> Void) -> PenstockError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? PenstockError)?.code
        }
    }

    @Test func whatIsEncryptedIsReadBack() throws {
        let codec = try AESGCMCodec(old)
        for bytes in [payload, [], [UInt8](repeating: 0, count: 1_000_000)] {
            let coded = try #require(try codec.encode(bytes))
            #expect(coded.parameter == "2026-01")
            #expect(coded.bytes.count == bytes.count + 28)
            #expect(try codec.decode(coded) == bytes)
        }
        // Equal payloads cannot be told by their bytes.
        #expect(try codec.encode(payload) != codec.encode(payload))
    }

    /// What another language has encrypted, as the documentation says.
    @Test func readsTheFormatThatIsDocumented() throws {
        let data = "AAECAwQFBgcICQoLPCCidOff4HrpINfuyYgVHe+zqVuCHH0BjQk1zKMlwkqsShbjDx6cHw=="
        let coded = CodedBytes([UInt8](try #require(Data(base64Encoded: data))), parameter: "2026-01")
        #expect(try AESGCMCodec(old).decode(coded) == payload)
    }

    @Test func eachKeyIsReadThatIsThere() throws {
        let (first, then, last) = (
            try AESGCMCodec(old, others: [new]), try AESGCMCodec(new, others: [old]), try AESGCMCodec(new)
        )
        let (early, late) = (try #require(try first.encode(payload)), try #require(try then.encode(payload)))
        #expect([early.parameter, late.parameter] == ["2026-01", "2026-02"])
        for codec in [first, then] { #expect(try [codec.decode(early), codec.decode(late)] == [payload, payload]) }
        #expect(try last.decode(late) == payload)
        #expect(code { _ = try last.decode(early) } == .undecodable)
    }

    @Test func whatWasChangedIsNotRead() throws {
        let codec = try AESGCMCodec(old, others: [new])
        let good = try #require(try codec.encode(payload))
        for index in good.bytes.indices {
            var bad = good
            bad.bytes[index] ^= 1
            #expect(code { _ = try codec.decode(bad) } == .undecodable, "byte \(index)")
        }
        for bytes in [[], Array(good.bytes.prefix(27)), Array(good.bytes.dropLast()), good.bytes + [0]] {
            #expect(code { _ = try codec.decode(CodedBytes(bytes, parameter: "2026-01")) } == .undecodable)
        }
        for parameter in [nil, "2026-02", "", "other"] as [String?] {
            #expect(code { _ = try codec.decode(CodedBytes(good.bytes, parameter: parameter)) } == .undecodable)
        }
        // The name of the key is a part of what is authentic.
        let renamed = try AESGCMCodec(try EncryptionKey(id: "renamed", bytes: Array(0..<32)))
        #expect(code { _ = try renamed.decode(CodedBytes(good.bytes, parameter: "renamed")) } == .undecodable)
    }

    @Test func keysThatCannotBeAreRefused() throws {
        for id in ["", "a b", "a,b", "a:b", "é", String(repeating: "k", count: 101)] {
            #expect(code { _ = try EncryptionKey(id: id, bytes: Array(0..<32)) } == .invalidInput, "\(id)")
        }
        for count in [0, 15, 17, 31, 33] {
            #expect(
                code { _ = try EncryptionKey(id: "k", bytes: [UInt8](repeating: 1, count: count)) } == .invalidInput)
        }
        #expect(code { _ = try AESGCMCodec(old, others: [new, old]) } == .invalidInput)
        // Nothing of the secret is in a log.
        #expect("\(old)" == "EncryptionKey(2026-01)")
    }
}
