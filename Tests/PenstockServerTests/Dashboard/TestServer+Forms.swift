import Foundation
import Penstock
import PenstockCore
import PenstockFormats

extension TestServer {
    /// Sends a form as a browser does.
    func submit(
        _ path: String, _ fields: [String: String] = [:], headers: [String: String] = [:]
    ) async throws -> TestResponse {
        let text = fields.map { "\(URLText.escape($0.key))=\(URLText.escape($0.value).replacing("%20", with: "+"))" }
            .joined(separator: "&")
        var headers = headers
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        headers["Sec-Fetch-Site"] = headers["Sec-Fetch-Site"] ?? "same-origin"
        return try await request("POST", path, headers: headers, body: Data(text.utf8))
    }

    /// The page at `path`.
    func page(_ path: String, headers: [String: String] = [:]) async throws -> TestResponse {
        try await request("GET", path, headers: headers)
    }
}

extension TestResponse {
    /// What the forms of a page would send that lead to `path`, as they are shown.
    func forms(to path: String) -> [[String: String]] {
        text.components(separatedBy: "<form").dropFirst().compactMap { part in
            let form = part.components(separatedBy: "</form>")[0]
            return form.contains("action=\"\(path)\"") ? Self.fields(of: form) : nil
        }
    }

    private static func fields(of form: String) -> [String: String] {
        var fields: [String: String] = [:]
        for field in form.matches(of: /name="([^"]*)" value="([^"]*)"/) {
            let value = String(field.2).replacing("&quot;", with: "\"").replacing("&amp;", with: "&")
            fields[String(field.1)] = value
        }
        return fields
    }

    /// What is said on the next page.
    var said: String? {
        guard let cookie = header("Set-Cookie"), cookie.hasPrefix("penstock_said=") else { return nil }
        return cookie.dropFirst("penstock_said=".count).prefix { $0 != ";" }.removingPercentEncoding
    }
}

extension PenstockStore {
    /// Enqueues messages that become dead letters, each with its error.
    func putDeadLetters(in queue: String, _ errors: [String]) async throws {
        let queue = try await self.queue(queue)
        try await queue.enqueue(errors.map { NewMessage(payload: Array($0.utf8)) })
        let claim = try await storage.claim(ClaimRequest(queue: queue.name, limit: 100, lease: .seconds(60)))
        _ = try await storage.settle(zip(claim.messages, errors).map { Settlement($0.lease, .dead(error: $1)) })
    }
}
