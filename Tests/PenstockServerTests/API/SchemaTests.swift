import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// Whether the document names the members that answers have.
@Suite(.timeLimit(.minutes(5))) struct SchemaTests {
    /// The schemas of a document.
    private struct Schemas {
        var known: [String: [String: Any]]

        init(_ document: [String: Any]) {
            let components = document["components"] as? [String: Any]
            known = components?["schemas"] as? [String: [String: Any]] ?? [:]
        }

        /// The schema and those that it refers to or is made of.
        private func parts(_ schema: [String: Any]) -> [[String: Any]] {
            if let name = (schema["$ref"] as? String)?.split(separator: "/").last {
                return parts(known[String(name)] ?? [:])
            }
            return [schema] + (schema["allOf"] as? [[String: Any]] ?? []).flatMap(parts)
        }

        /// The members of `value`, and of what is in it, that the schema does not name. An object of which it names none may have any.
        func unnamed(in value: Any, _ schema: [String: Any], at place: String) -> [String] {
            let all = parts(schema)
            if let elements = value as? [Any] {
                guard let items = all.compactMap({ $0["items"] as? [String: Any] }).first else { return [] }
                return elements.flatMap { unnamed(in: $0, items, at: place) }
            }
            guard let object = value as? [String: Any] else { return [] }
            var members: [String: [String: Any]] = [:]
            for part in all {
                members.merge(part["properties"] as? [String: [String: Any]] ?? [:]) { $1 }
            }
            if members.isEmpty { return [] }
            return object.flatMap { key, value in
                members[key].map { unnamed(in: value, $0, at: "\(place).\(key)") } ?? ["\(place).\(key)"]
            }
        }
    }

    @Test func theMembersOfAnswersAreInTheirSchemas() async throws {
        try await TestServer.onFile { server in
            let schemas = Schemas(try await server.send("GET", "/openapi.json").json())
            let body = #"{"queue":"q","spec":"@daily","payload":"x","headers":{"a":"1"},"uniqueKey":"k"}"#
            #expect(try await server.send("PUT", "/v1/schedules/s", body).status == 201)
            #expect(try await server.send("POST", "/v1/schedules/s/run").status == 200)
            let later = try await server.put("later", headers: ["Penstock-Delay": "1h"])
            for (path, name) in [
                ("/v1/schedules/s", "Schedule"), ("/v1/messages/\(later)", "Message"),
                ("/v1/messages/\(later)/why", "WaitReason"),
            ] {
                let answer = try await server.send("GET", path)
                #expect(answer.status == 200)
                let schema = try #require(schemas.known[name])
                let unnamed = schemas.unnamed(in: try answer.json(), schema, at: name)
                #expect(unnamed.isEmpty, "\(unnamed.sorted())")
            }
            let list = try await server.send("GET", "/v1/schedules").json()["schedules"] as? [Any] ?? []
            let unnamed = schemas.unnamed(in: list, ["items": schemas.known["Schedule"] ?? [:]], at: "schedules")
            #expect(list.count == 1 && unnamed.isEmpty, "\(unnamed.sorted())")
        }
    }
}
