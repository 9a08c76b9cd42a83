package import ScrollbackWire

extension MarkRead: StateExecutable {}
