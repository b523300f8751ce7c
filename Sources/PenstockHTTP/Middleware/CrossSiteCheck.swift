import HTTPTypes
package import Hummingbird

/// Refuses requests by which a page of another site would change something with the rights of whoever looks at it.
///
/// Browsers say where such a request comes from, in `Sec-Fetch-Site` (W3C Fetch Metadata) or, where that is missing, in `Origin`.
/// Programs that are no browsers say neither, and carry no rights that they do not know of.
package struct CrossSiteCheck: DoorCheck {
    package init() {}

    package func refusal(of request: Request, _ context: inout ServerContext) -> Response? {
        guard request.isGetOrHead || Self.isOwn(request) else {
            return Problem(.forbidden, code: "crossSite", "A page of another site asked for this, and may not.")
                .response
        }
        return nil
    }

    private static func isOwn(_ request: Request) -> Bool {
        if let site = request.headers[values: .secFetchSite].first { return site == "same-origin" || site == "none" }
        guard let origin = request.headers[.origin] else { return true }
        // Between a browser and this server may be a proxy that speaks TLS, so the scheme says nothing.
        let parts = origin.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 && parts[2] == request.head.authority ?? ""
    }
}

extension HTTPField.Name {
    /// Where a request comes from, in the browser's word.
    fileprivate static let secFetchSite = HTTPField.Name(known: "Sec-Fetch-Site")
}
