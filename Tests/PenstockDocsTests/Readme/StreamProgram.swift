// shown
import Penstock

struct Gallery {
    static func main() async throws {
        let store = try await PenstockStore.open(path: "gallery.db")
        let photos = try await store.queue("photos", of: Int.self)

        // The log knows what has arrived. The camera goes on after it, today and after a crash.
        var taken = 0
        for try await entry in photos.log(last: 1) { taken = try entry.payload() }
        let roll = taken + 1...taken + 3
        let camera = AsyncStream { output in
            for photo in roll { output.yield(photo) }
            output.finish()
        }

        // Up to 100 wait as rows of the file. What a killed process had begun comes first in the next one.
        let thumbnails =
            camera
            .buffer(size: 100, prefetch: .byRequest, whenFull: .dropOldest, in: photos)
            .flatMap(maxConcurrent: 1) { photo in
                AsyncStream(String.self) { output in
                    output.yield("thumbnail of photo \(photo)")
                    output.finish()
                }
            }
        for try await thumbnail in thumbnails { print(thumbnail) }
        try await store.close()
    }
}
// end
