package import ScrollbackWire

extension ExcludeFromNewDevices: StateExecutable {}
