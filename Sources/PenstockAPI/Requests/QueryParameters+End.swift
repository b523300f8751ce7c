import PenstockCore
import PenstockHTTP

extension QueryParameters {
    /// From which end of a list a page is, and how many it has at most: `last`, which `preceding` goes with, or `limit`.
    func end() throws(Problem) -> (MessageQuery.End, limit: Int) {
        guard let last = try count("last", in: Bounds.pageRange) else {
            if has("preceding") { throw Problem.invalid("'preceding' goes with 'last'.") }
            return (.first, try count("limit", in: Bounds.pageRange) ?? 100)
        }
        if has("limit") { throw Problem.invalid("'last' and 'limit' both say how many; leave one of them out.") }
        return (.last, last)
    }
}
