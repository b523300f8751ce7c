import HTTPTypes
import Hummingbird
import PenstockHTTP
import Tracing

/// A span around each request, as OpenTelemetry has them for HTTP servers; as a part of the client's span where it names one.
struct RequestSpans: RouterMiddleware {
    let tracer: any Tracer

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        try await Self.handle(tracer, request, context, next)
    }

    // What a tracer's spans are is known once it is opened.
    private static func handle<Used: Tracer>(
        _ tracer: Used, _ request: Request, _ context: ServerContext,
        _ next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        var parent = ServiceContext.topLevel
        tracer.extract(request.headers, into: &parent, using: FieldCarrier())
        let method = RequestWords.method(request.method)
        return try await tracer.withSpan(method, context: parent, ofKind: .server) { span in
            span.attributes["http.request.method"] = method
            let response = try await next(request, context)
            // The route is known once the request has come to it.
            if let route = RequestWords.route(context.endpointPath) {
                span.operationName = "\(method) \(route)"
                span.attributes["http.route"] = route
            }
            span.attributes["http.response.status_code"] = response.status.code
            if response.status.kind == .serverError { span.setStatus(SpanStatus(code: .error)) }
            return response
        }
    }
}

/// What is told of a request to those who count and trace: never what its client has made up.
enum RequestWords {
    /// The method; whoever makes requests may invent some.
    static func method(_ method: HTTPRequest.Method) -> String {
        methods.contains(method) ? method.rawValue : "other"
    }

    /// The route as it was added, and never the path, which names queues and messages; `nil`: there is none.
    static func route(_ path: String?) -> String? { path == "NotFound" ? nil : path }

    static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]
}

/// A context in the headers of a request.
private struct FieldCarrier: Extractor {
    func extract(key: String, from fields: HTTPFields) -> String? {
        HTTPField.Name(key).flatMap { fields[$0] }
    }
}
