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

    mutating func insert(_ element: Element) { set(element, true) }

    mutating func remove(_ element: Element) { set(element, false) }

    /// Sees to it that `element` is there, or is not.
    mutating func set(_ element: Element, _ isThere: Bool) {
        let index = index(of: element)
        let wasThere = index < elements.count && elements[index] == element
        if isThere, !wasThere { elements.insert(element, at: index) }
        if !isThere, wasThere { elements.remove(at: index) }
    }
}
