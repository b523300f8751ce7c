import Foundation
import Testing

@testable import PenstockDashboard

/// What is a part of the program is as it lies in the repository.
@Suite(.timeLimit(.minutes(5))) struct EmbeddedFileTests {
    private static let sources: URL = {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 1...4 { folder.deleteLastPathComponent() }
        return folder.appending(path: "Sources")
    }()

    @Test func theListIsTheFolder() throws {
        let folder = Self.sources.appending(path: "PenstockDashboard/Resources")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }
        #expect(EmbeddedFile.all.map(\.name).sorted() == names.sorted())
        for file in EmbeddedFile.all {
            let text = try String(contentsOf: folder.appending(path: file.name), encoding: .utf8)
            #expect(file.text == text, "\(file.name)")
        }
    }

    @Test func theDocumentIsTheFile() async throws {
        let file = Self.sources.appending(path: "PenstockAPI/OpenAPI/openapi.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        try await TestServer.run { server in
            let document = try await server.send("GET", "/openapi.json")
            #expect(document.text == text)
        }
    }
}
