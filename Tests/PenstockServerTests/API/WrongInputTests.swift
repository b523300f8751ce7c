import Penstock
import PenstockCore
import Testing

@testable import PenstockHTTP

/// What is said of JSON that is no such request, and of requests that cannot be carried out.
@Suite(.timeLimit(.minutes(5))) struct WrongInputTests {
    @Test(arguments: [
        (
            #"{"capacity":{"count":1,"whenFull":"explode"}}"#,
            "\"capacity.whenFull\" cannot be 'explode'; it is one of dropNewest, dropOldest, fail, wait."
        ),
        (#"{"whenExpired":"x"}"#, "\"whenExpired\" cannot be 'x'; it is one of "),
        (#"{"groups":{"fifo":true,"onDead":"x"}}"#, "\"groups.onDead\" cannot be 'x'; it is one of "),
        (#"{"limit":"many"}"#, "\"limit\" has to be a whole number."),
        (#"{"retry":{"factor":"x"}}"#, "\"retry.factor\" has to be a number."),
        (#"{"isFair":"x"}"#, "\"isFair\" has to be true or false."),
        (#"{"whenExpired":1}"#, "\"whenExpired\" has to be a text."),
        (#"{"retry":3}"#, "\"retry\" has to be an object."),
        ("[1]", "It has to be an object."), ("{", "It is no JSON."), (#"{"limit":1,}"#, "It is no JSON."),
        (#"{"limit":1e400}"#, "A number in it has to be whole, and not too large."),
        (#"{"limit":1,"limit":2}"#, "It has a \"limit\" twice; leave one of them out."),
    ])
    func aWrongPolicyIsNamed(body: String, sentence: String) async throws {
        try await TestServer.inMemory { server in
            let response = try await server.send("PATCH", "/v1/queues/q", body)
            #expect(response.status == 400)
            let detail = try response.json()["detail"] as? String ?? ""
            let isSaid = detail.contains(sentence)
            #expect(isSaid, "\(detail)")
        }
    }

    @Test func aWrongWordElsewhereIsNamed() async throws {
        try await TestServer.inMemory { server in
            let verdict = #"{"settlements":[{"sequence":1,"token":"1","verdict":"dead","reason":"boredom"}]}"#
            let settled = try await server.send("POST", "/v1/settlements", verdict).text
            #expect(settled.contains("cannot be 'boredom'; it is one of "), "\(settled)")
            let schedule = #"{"queue":"q","spec":"every 1h","missed":"some"}"#
            let scheduled = try await server.send("PUT", "/v1/schedules/s", schedule).text
            #expect(scheduled.contains(#"\"missed\" cannot be 'some'; it is one of "#), "\(scheduled)")
            let list = try await server.send("POST", "/v1/settlements", #"{"settlements":1}"#).text
            #expect(list.contains(#"\"settlements\" has to be a list."#), "\(list)")
        }
    }

    /// Whoever asks over HTTP may have no command line there.
    @Test func whatToDoIsSaidInTheWordsOfHTTP() async throws {
        try await TestServer.onFile { server in
            for (path, sentence) in [
                ("queues/none", "There is no queue 'none'; PUT /v1/queues/NAME makes one."),
                ("workflows/none", "There is no workflow 'none'; GET /v1/workflows names those there are."),
                ("schedules/none", "There is no schedule 'none'; GET /v1/schedules names those there are."),
            ] {
                let detail = try await server.send("GET", "/v1/\(path)").json()["detail"] as? String
                #expect(detail == sentence)
            }
            let limited = try await server.send("PATCH", "/v1/queues/q", #"{"sharedLimit":"none"}"#).json()
            #expect(limited["detail"] as? String == "There is no limit 'none'; PUT /v1/limits/NAME makes one.")
            try await server.put("x")
            let full = try await server.send("DELETE", "/v1/queues/q").json()["detail"] as? String
            #expect(full?.contains("?force=true") == true && full?.contains("--force") == false, "\(full ?? "")")
        }
        let killed = "Or finish it with `penstock queue delete --force`."
        #expect(Advice.http.instead(of: killed) == "Or finish it with DELETE /v1/queues/NAME?force=true.")
        #expect(!Advice.pages.instead(of: killed).contains("--force"))
    }
}
