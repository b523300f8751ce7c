import Penstock
import PenstockCodecs
import Testing

// The landing page of PenstockCodecs.

struct CodecsArticle {
    static func open(_ store: PenstockStore, secret: [UInt8]) async throws {
        // shown
        let key = try EncryptionKey(id: "2026-01", bytes: secret)
        let mails = try await store.queue(
            "mails", of: Mail.self, codecs: [DeflateCodec(), AESGCMCodec(key)])
        try await mails.enqueue(Mail(to: "ada@example.org"))
        // end
    }

    static func change(_ oldSecret: [UInt8], _ newSecret: [UInt8]) throws -> [AESGCMCodec] {
        // shown
        let old = try EncryptionKey(id: "2026-01", bytes: oldSecret)
        let new = try EncryptionKey(id: "2026-02", bytes: newSecret)
        let first = try AESGCMCodec(old, others: [new])  // every process reads both
        let then = try AESGCMCodec(new, others: [old])  // then each begins to write the new one
        let last = try AESGCMCodec(new)  // the old one goes when no message needs it
        // end
        return [first, then, last]
    }
}
