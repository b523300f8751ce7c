import Tracing

/// Headers as contexts are written into them, and read out of them.
struct HeaderCarrier: Injector, Extractor {
    func inject(_ value: String, forKey key: String, into headers: inout [String: String]) { headers[key] = value }
    func extract(key: String, from headers: [String: String]) -> String? { headers[key] }
}
