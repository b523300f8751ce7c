import CoreMetrics
import HTTPTypes
import Hummingbird
import PenstockHTTP
import PenstockMetrics
import Synchronization

/// How long requests take, by method, route and status.
struct RequestTimes: RouterMiddleware {
    let metrics = RecordedMetrics(timerBuckets: .ofRequests)
    private let timers = Timers()

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next(request, context)
        record(
            request.method, RequestWords.route(context.endpointPath) ?? "none", response.status,
            start.duration(to: .now))
        return response
    }

    func record(_ method: HTTPRequest.Method, _ route: String, _ status: HTTPResponse.Status, _ duration: Duration) {
        let series = Series(method: RequestWords.method(method), route: route, status: status.code)
        timers.timer(of: series, in: metrics).recordNanoseconds(
            duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000)
    }

    private struct Series: Hashable {
        var method: String
        var route: String
        var status: Int
    }

    /// The histograms that there are: to find one by the text of its labels would take as long as all else that is done for a request's
    /// numbers.
    private final class Timers: Sendable {
        private let known = Mutex<[Series: any TimerHandler]>([:])

        func timer(of series: Series, in metrics: RecordedMetrics) -> any TimerHandler {
            known.withLock { known in
                if let timer = known[series] { return timer }
                let timer = metrics.makeTimer(
                    label: "penstock.http.request.duration",
                    dimensions: [("method", series.method), ("route", series.route), ("code", String(series.status))])
                known[series] = timer
                return timer
            }
        }
    }
}
