import HTTPTypes
import Hummingbird
import PenstockFormats
import PenstockHTTP

extension Response {
    /// That it is done, and that there is nothing to say of it.
    static var done: Response { Response(status: .noContent) }

    /// A page of rows, and after which row the next one begins.
    ///
    /// - Parameter next: `null` when there are no more, for now.
    static func page(_ name: String, _ rows: [JSONValue], next: JSONValue?) -> Response {
        .json(.object([name: .array(rows), "next": next ?? .null]))
    }
}

extension RouterMethods {
    /// A route whose answer says nothing but that it is done.
    func act(
        _ path: RouterPath, method: HTTPRequest.Method = .post,
        use act: @escaping @Sendable (Request, Context) async throws -> Void
    ) {
        on(path, method: method) { request, context in
            try await act(request, context)
            return Response.done
        }
    }
}
