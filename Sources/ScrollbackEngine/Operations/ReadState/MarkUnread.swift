package import ScrollbackWire

extension MarkUnread: StateExecutable {}
