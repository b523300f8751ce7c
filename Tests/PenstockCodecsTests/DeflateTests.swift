import CPenstockZlib
import Foundation
import Penstock
import PenstockCodecs
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct DeflateTests {
    private let text = Array(String(repeating: "The quick brown fox jumps over the lazy dog. ", count: 8).utf8)

    private func code(_ body: () throws -> Void) -> PenstockError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? PenstockError)?.code
        }
    }

    @Test(arguments: [256, 257, 1000, 100_000, 3_000_000])
    func whatIsCompressedIsReadBack(count: Int) throws {
        let random = SeededRandom(seed: UInt64(count))
        let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() & 7) }
        let codec = try DeflateCodec()
        let coded = try #require(try codec.encode(bytes))
        #expect(coded.parameter == nil)
        #expect(coded.bytes.count < bytes.count * 6 / 10)
        #expect(try codec.decode(coded) == bytes)
    }

    /// What another language has compressed.
    @Test func readsTheFormatOfZlib() throws {
        let data = "eJwLyUhVKCzNTM5WSCrKL89TSMuvUMgqzS0oVsgvSy1SKAFK5yRWVSqk5KfrKYSMKiZXMQBlMYE5"
        let coded = CodedBytes([UInt8](try #require(Data(base64Encoded: data))))
        #expect(try DeflateCodec().decode(coded) == text)
    }

    @Test func whatDoesNotBecomeShorterIsLeftAsItIs() throws {
        let random = SeededRandom(seed: 1)
        let noise = (0..<1000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        #expect(try DeflateCodec().encode(noise) == nil)
        #expect(try DeflateCodec().encode(Array(text.prefix(255))) == nil)
        #expect(try DeflateCodec(bytesMin: 0).encode([]) == nil)
        #expect(try DeflateCodec(level: 9, bytesMin: 100).encode(Array(text.prefix(255))) != nil)
    }

    @Test func damageIsSaid() throws {
        let codec = try DeflateCodec()
        let good = try #require(try codec.encode(text)).bytes
        for bad in [[], [1, 2, 3], Array(good.dropLast()), good + [0], [0] + good, text] {
            #expect(code { _ = try codec.decode(CodedBytes(bad)) } == .undecodable, "\(bad.count) bytes")
        }
        // The checksum finds each changed byte.
        for index in good.indices.dropFirst(2) {
            var bad = good
            bad[index] ^= 0x10
            #expect(code { _ = try codec.decode(CodedBytes(bad)) } == .undecodable, "byte \(index)")
        }
    }

    /// A few bytes that stand for more than fits in memory are refused, and so is what could not be read back.
    @Test func noMoreThanAPayloadComesOutOrGoesIn() throws {
        let codec = try DeflateCodec()
        let most = [UInt8](repeating: 7, count: Limits.payloadBytesMax)
        let coded = try #require(try codec.encode(most))
        #expect(try codec.decode(coded).count == most.count)
        #expect(code { _ = try codec.encode(most + [7]) } == .invalidInput)
        let large = most + most
        var length = compressBound(uLong(large.count))
        var bomb = [UInt8](repeating: 0, count: Int(length))
        #expect(compress2(&bomb, &length, large, uLong(large.count), 9) == Z_OK)
        #expect(code { _ = try codec.decode(CodedBytes(Array(bomb.prefix(Int(length))))) } == .undecodable)
    }

    @Test(arguments: [0, 10]) func aLevelThatThereIsNotIsRefused(level: Int) {
        #expect(code { _ = try DeflateCodec(level: level) } == .invalidInput)
    }
}
