internal import CPenstockZlib
public import Penstock

/// Compresses payloads: `deflate` in the header, in the zlib format (RFC 1950) that every language has.
///
/// A payload that is short, or does not become shorter, is left as it is.
public struct DeflateCodec: ByteCodec {
    /// `deflate`.
    public let name = "deflate"
    private let level: Int
    private let bytesMin: Int

    /// Makes the codec.
    ///
    /// - Parameters:
    ///   - level: how hard it tries, from 1, which is fast, to 9, which is small.
    ///   - bytesMin: payloads with fewer bytes are left as they are.
    /// - Throws: `PenstockError` with code `invalidInput` for a level that there is not.
    public init(level: Int = 6, bytesMin: Int = 256) throws(PenstockError) {
        guard (1...9).contains(level) else {
            throw PenstockError(.invalidInput, "The level of a DeflateCodec is 1 to 9, not \(level).")
        }
        self.level = level
        self.bytesMin = bytesMin
    }

    /// The compressed bytes, if they are fewer.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` for more than `Limits.payloadBytesMax` bytes: nobody could read them back.
    public func encode(_ bytes: [UInt8]) throws -> CodedBytes? {
        guard bytes.count <= Limits.payloadBytesMax else {
            throw PenstockError(
                .invalidInput,
                "A payload has at most \(Limits.payloadBytesMax) bytes (payloadBytesMax), before it is compressed as well."
            )
        }
        if bytes.count < max(bytesMin, 1) { return nil }
        var length = compressBound(uLong(bytes.count))
        var status = Z_OK
        let compressed = [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            status = compress2(buffer.baseAddress, &length, bytes, uLong(bytes.count), Int32(level))
            count = status == Z_OK ? Int(length) : 0
        }
        guard status == Z_OK else { throw PenstockError(.storage, "zlib could not compress a payload (\(status)).") }
        return compressed.count < bytes.count ? CodedBytes(compressed) : nil
    }

    /// The bytes before they were compressed.
    ///
    /// - Throws: `PenstockError` with code `undecodable` for bytes that are none of its own, or would become more than
    ///   `Limits.payloadBytesMax`.
    public func decode(_ coded: CodedBytes) throws -> [UInt8] {
        var stream = z_stream()
        guard inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw PenstockError(.storage, "zlib has no memory.")
        }
        defer { inflateEnd(&stream) }
        var coded = coded.bytes
        return try coded.withUnsafeMutableBufferPointer { source in
            stream.next_in = source.baseAddress
            stream.avail_in = uInt(source.count)
            return try Self.inflated(&stream, about: source.count * 4)
        }
    }

    private static func inflated(_ stream: inout z_stream, about estimate: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var room = min(max(estimate, 1024), Limits.payloadBytesMax + 1)
        while true {
            var status = Z_OK
            let chunk = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                stream.next_out = buffer.baseAddress
                stream.avail_out = uInt(room)
                status = inflate(&stream, Z_NO_FLUSH)
                count = room - Int(stream.avail_out)
            }
            bytes = bytes.isEmpty ? chunk : bytes + chunk
            guard bytes.count <= Limits.payloadBytesMax else {
                throw PenstockError(
                    .undecodable,
                    "It would have more than \(Limits.payloadBytesMax) bytes (payloadBytesMax) when it is not compressed."
                )
            }
            switch status {
            case Z_STREAM_END where stream.avail_in == 0: return bytes
            case Z_STREAM_END: throw PenstockError(.undecodable, "Something follows the end of the compressed bytes.")
            case Z_OK where stream.avail_out == 0: room = min(bytes.count, Limits.payloadBytesMax + 1)
            default: throw PenstockError(.undecodable, "It is damaged, or was not compressed by zlib (\(status)).")
            }
        }
    }
}
