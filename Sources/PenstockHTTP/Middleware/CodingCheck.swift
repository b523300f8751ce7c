import HTTPTypes
package import Hummingbird

/// Refuses a body that was compressed, or changed in another manner, on its way (RFC 9110, 8.4 and 15.5.16).
///
/// Nobody here undoes that. A message would be taken for what it is not: its consumer would get bytes that are no JSON, though its type
/// says so.
package struct CodingCheck: DoorCheck {
    let passesBy: @Sendable (Request) -> Bool

    /// - Parameter passesBy: whether a request is refused by its own route, as its client knows no problems of this kind.
    package init(passesBy: @escaping @Sendable (Request) -> Bool) {
        self.passesBy = passesBy
    }

    package func refusal(of request: Request, _ context: inout ServerContext) -> Response? {
        guard request.isCoded, !passesBy(request) else { return nil }
        var response = Problem(
            .unsupportedMediaType, code: "codedBody",
            "No Content-Encoding is undone here; send the body as it is, or say what a message is in Penstock-Header-Content-Encoding."
        ).response
        response.headers[.acceptEncoding] = "identity"
        return response
    }
}

extension Request {
    /// Whether the body was compressed, or changed in another manner, on its way. What only asks has none.
    package var isCoded: Bool {
        guard let codings = headers[.contentEncoding], !isGetOrHead else { return false }
        return codings.split(separator: ",").contains { coding in
            let name = coding.filter { $0 != " " && $0 != "\t" }.lowercased()
            return !name.isEmpty && name != "identity"
        }
    }
}
