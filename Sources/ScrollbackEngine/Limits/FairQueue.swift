import DequeModule

/// A queue that serves its owners in turn.
///
/// Each owner's elements keep their order, and each turn takes one element of one owner. For every earlier element of
/// its own owner, an element therefore waits for at most one element of each other owner.
///
/// Adding and taking an element cost one dictionary lookup each.
package struct FairQueue<Owner: Hashable, Element> {
    private var waiting: [Owner: Deque<Element>] = [:]
    /// The owners with waiting elements, in the order of their next turns.
    private var turns: Deque<Owner> = []
    /// The number of waiting elements.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Returns the number of waiting elements of one owner.
    package func count(of owner: Owner) -> Int { waiting[owner]?.count ?? 0 }

    /// Adds an element after all others of its owner.
    package mutating func append(_ element: Element, of owner: Owner) {
        count += 1
        waiting[owner, default: []].append(element)
        if waiting[owner]?.count == 1 { turns.append(owner) }
    }

    /// Adds an element before all others of its owner.
    ///
    /// - Parameter hasNextTurn: Whether an owner without other elements has the next turn instead of the last.
    package mutating func prepend(_ element: Element, of owner: Owner, hasNextTurn: Bool) {
        count += 1
        waiting[owner, default: []].prepend(element)
        guard waiting[owner]?.count == 1 else { return }
        if hasNextTurn { turns.prepend(owner) } else { turns.append(owner) }
    }

    /// Takes the next element, and ends the turn of its owner.
    package mutating func popFirst() -> (owner: Owner, element: Element)? {
        guard let owner = turns.popFirst() else { return nil }
        return take(owner)
    }

    /// Takes the next element of an owner for which a condition holds; other owners keep their turns.
    ///
    /// The cost grows with the number of owners that are passed over.
    package mutating func popFirst(where mayRun: (Owner) -> Bool) -> (owner: Owner, element: Element)? {
        guard let index = turns.firstIndex(where: mayRun) else { return nil }
        return take(turns.remove(at: index))
    }

    private mutating func take(_ owner: Owner) -> (owner: Owner, element: Element)? {
        guard let element = waiting[owner]?.popFirst() else { return nil }
        count -= 1
        if waiting[owner]?.isEmpty == false { turns.append(owner) } else { waiting[owner] = nil }
        return (owner, element)
    }
}
