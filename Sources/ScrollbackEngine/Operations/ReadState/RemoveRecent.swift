package import ScrollbackWire

extension RemoveRecent: StateExecutable {}
