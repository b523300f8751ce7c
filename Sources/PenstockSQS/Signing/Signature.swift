import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// The signature of a request, as Amazon's Signature Version 4 has it.
///
/// The access key's id is the name of a token, and its secret that token.
struct Signature {
    private static let algorithm = "AWS4-HMAC-SHA256"
    private static let clockDifferenceMax = Duration.seconds(300)

    private let request: Request

    init(_ request: Request) { self.request = request }

    /// The region for which a request is signed, if it is, and if it can be one.
    static func region(of request: Request) -> String? {
        guard let region = Authorization(request)?.region,
            (1...64).contains(region.utf8.count),
            region.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
        else { return nil }
        return region
    }

    /// Finds out by whose token the request is said to be signed, and refuses what cannot be signed, before any of the body is read.
    ///
    /// - Throws: a refusal when nobody that the server knows can have signed it, all of it, within five minutes.
    func signer(_ tokens: Tokens, now: Timestamp) throws(Refusal) -> Signer {
        guard request.headers[.authorization] != nil else {
            throw Refusal("MissingAuthenticationToken", "Request is missing Authentication Token", status: .forbidden)
        }
        guard let authorization = Authorization(request), let date = request.headers[.amazonDate],
            let moment = Self.moment(date)
        else {
            throw Refusal(
                "IncompleteSignature", "The request is to be signed with \(Self.algorithm), and to have an X-Amz-Date.",
                status: .forbidden)
        }
        guard let token = tokens.token(named: authorization.key) else {
            throw Refusal(
                "InvalidClientTokenId", "The security token included in the request is invalid.", status: .forbidden)
        }
        let apart = now - moment
        guard apart <= Self.clockDifferenceMax, apart >= .zero - Self.clockDifferenceMax else {
            throw mismatch("Signature expired: \(date) is not within five minutes of the server's time.")
        }
        guard authorization.date == date.prefix(8), authorization.service == "sqs" else {
            throw mismatch("The credential is to be scoped to the date of the request and to the service sqs.")
        }
        // What is not signed could be another's: the action and the date are headers.
        guard ["host", "x-amz-date", "x-amz-target"].allSatisfy(authorization.signedHeaders.contains) else {
            throw mismatch("The headers host, x-amz-date and x-amz-target are to be signed.")
        }
        return Signer(token: token, authorization: authorization, date: date)
    }

    /// Somebody by whose token a request is said to be signed.
    struct Signer {
        fileprivate var token: Tokens.Token
        fileprivate var authorization: Authorization
        fileprivate var date: String
    }

    /// Finds out whether that signer has signed the request, with all of its body.
    ///
    /// - Throws: a refusal when it was somebody else.
    func verify(body: ByteBuffer, by signer: Signer) throws(Refusal) -> Principal {
        let (token, authorization, date) = (signer.token, signer.authorization, signer.date)
        let canonical = try canonicalRequest(authorization.signedHeaders, body)
        let scope = "\(authorization.date)/\(authorization.region)/\(authorization.service)/aws4_request"
        let text = [Self.algorithm, date, scope, SHA256.hash(data: Array(canonical.utf8)).hex].joined(separator: "\n")
        var key = SymmetricKey(data: Array(("AWS4" + token.secret).utf8))
        for part in [authorization.date, authorization.region, authorization.service, "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
        }
        // Compares every byte, however near a guess was.
        guard let shown = Self.bytes(authorization.signature),
            HMAC<SHA256>.isValidAuthenticationCode(shown, authenticating: Array(text.utf8), using: key)
        else {
            throw mismatch(
                "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
                    + "and signing method.")
        }
        return token.principal
    }

    private func mismatch(_ message: String) -> Refusal {
        Refusal("SignatureDoesNotMatch", message, status: .forbidden)
    }

    /// The request in the one form in which both sides sign it.
    private func canonicalRequest(_ signedHeaders: [String], _ body: ByteBuffer) throws(Refusal) -> String {
        let target = request.head.path ?? "/"
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        // As it was sent, each part escaped once more.
        let path = URLText.escape(parts.first.map(String.init) ?? "", but: "-_.~/")
        let query = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { pair in
            pair.contains("=") ? String(pair) : pair + "="
        }.sorted()
        var lines = ["POST", path.isEmpty ? "/" : path, query.joined(separator: "&")]
        for name in signedHeaders {
            let values: [String]
            if name == "host" {
                values = request.head.authority.map { [$0] } ?? []
            } else {
                values = HTTPField.Name(name).map { request.headers[values: $0] } ?? []
            }
            guard !values.isEmpty else { throw mismatch("The header \(name) is signed and is not there.") }
            lines.append(name + ":" + values.map(Self.trimmed).joined(separator: ","))
        }
        lines += ["", signedHeaders.joined(separator: ";"), SHA256.hash(data: Array(body.readableBytesView)).hex]
        return lines.joined(separator: "\n")
    }

    private static func trimmed(_ value: String) -> String {
        value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }

    /// The moment that `20250102T030405Z` is.
    private static func moment(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z"),
            (bytes[..<8] + bytes[9..<15]).allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
        else { return nil }
        func part(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        let time = "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))T\(part(9..<11)):\(part(11..<13)):\(part(13..<15))Z"
        return try? TimeText.parse(time, now: Timestamp(microseconds: 0))
    }

    private static func bytes(_ hex: String) -> [UInt8]? {
        guard hex.utf8.count == 64 else { return nil }
        var bytes: [UInt8] = []
        var rest = hex[...]
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}

/// The header `Authorization` of a request that is signed.
private struct Authorization {
    var key: String
    var date: String
    var region: String
    var service: String
    var signedHeaders: [String]
    var signature: String

    init?(_ request: Request) {
        guard let header = request.headers[.authorization], header.hasPrefix("AWS4-HMAC-SHA256 ") else { return nil }
        var members: [String: String] = [:]
        for member in header.dropFirst("AWS4-HMAC-SHA256 ".count).split(separator: ",") {
            let pair = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { return nil }
            members[pair[0].trimmingCharacters(in: .whitespaces)] = pair[1].trimmingCharacters(in: .whitespaces)
        }
        guard let credential = members["Credential"], let headers = members["SignedHeaders"],
            let signature = members["Signature"]
        else { return nil }
        let parts = credential.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 5, parts.last == "aws4_request" else { return nil }
        // A token's name may hold a slash itself.
        key = parts.dropLast(4).joined(separator: "/")
        (date, region, service) = (parts[parts.count - 4], parts[parts.count - 3], parts[parts.count - 2])
        signedHeaders = headers.split(separator: ";").map(String.init)
        self.signature = signature
    }
}
