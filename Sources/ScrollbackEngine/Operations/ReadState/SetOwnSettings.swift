package import ScrollbackWire

extension SetOwnSettings: StateExecutable {}
