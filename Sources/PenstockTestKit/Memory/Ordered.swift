/// A set of values in their order.
struct Ordered<Element: Comparable & Sendable>: Sendable {
    private(set) var elements: [Element] = []

    /// Where `element` is, or would be.
    func index(of element: Element) -> Int {
        var low = 0
        var high = elements.count
        while low < high {
            let middle = (low + high) / 2
            if elements[middle] < element { low = middle + 1 } else { high = middle }
        }
        return low
    }

    mutating func insert(_ element: Element) {
        let index = index(of: element)
        if index == elements.count || elements[index] != element { elements.insert(element, at: index) }
    }

    mutating func remove(_ element: Element) {
        let index = index(of: element)
        if index < elements.count, elements[index] == element { elements.remove(at: index) }
    }
}
