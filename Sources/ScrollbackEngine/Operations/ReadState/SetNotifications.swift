package import ScrollbackWire

extension SetNotifications: StateExecutable {}
