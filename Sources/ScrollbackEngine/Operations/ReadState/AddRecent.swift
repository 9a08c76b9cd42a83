package import ScrollbackWire

extension AddRecent: StateExecutable {}
